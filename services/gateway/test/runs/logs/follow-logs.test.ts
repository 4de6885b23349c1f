import {
  assigned,
  aRun,
  OTHER_EXECUTOR,
  queued,
  requeued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { openEventSource, readToEnd, type EventSourceClient } from '../subscribe/an-event-source.ts';
import { aChunk, attemptOf, store } from './some-logs.ts';

let bed: TestBed;
let key: string;
let gateway: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  ({ key } = bed.tenant);
  gateway = await bed.gateway();
  other = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const ownRun = () => aRun(bed.tenant.org_id);
const shown = ({ events }: EventSourceClient): unknown[] =>
  events
    .filter(({ event }) => event !== 'notice')
    .map(({ event, data }) => (event === 'line' ? data.line : { [event]: data.cut ?? data.status }));
const has = (source: EventSourceClient, line: unknown): Promise<unknown> =>
  waitFor(`the line ${String(line)}`, () => shown(source).includes(line));

describe('a stream of logs', () => {
  it('sends what was written before, what is written then, and the end of the run', async () => {
    const run = ownRun();
    const facts = [queued(run), assigned(run), started(run)];
    await appendAll(bed.log, ...facts);
    await store(bed.log, attemptOf(run), aChunk(0, 2));
    await using source = await openEventSource(gateway.logsOf(run, '?follow=1'), key);
    expect([source.status, source.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    await has(source, 'line 1');
    await store(bed.log, attemptOf(run), aChunk(0, 4));
    await has(source, 'line 3');
    await store(bed.log, attemptOf(run), aChunk(0, 4), aChunk(6, 1));
    await has(source, 'line 6');
    await appendAll(bed.log, succeeded(run));
    await source.ended;
    expect(shown(source)).toEqual([
      'line 0',
      'line 1',
      'line 2',
      'line 3',
      { cut: { lines: 2, bytes: 20 } },
      'line 6',
      { end: 'success' },
    ]);
  });

  it('begins before the first attempt, and goes on with the next one', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run));
    await using source = await openEventSource(gateway.logsOf(run, '?follow=1'), key);
    await appendAll(bed.log, assigned(run), started(run));
    await store(bed.log, attemptOf(run), aChunk(0, 1, 'first'));
    await has(source, 'first 0');
    await appendAll(bed.log, requeued(run), assigned(run, { attempt: 2, executor: OTHER_EXECUTOR }));
    await store(bed.log, attemptOf(run, 2, OTHER_EXECUTOR), aChunk(0, 1, 'second'));
    await has(source, 'second 0');
    expect(shown(source)).toEqual(['first 0', 'second 0']);
  });

  it('continues at any gateway after any event, and misses and repeats nothing', async () => {
    const run = ownRun();
    const second = assigned(run, { attempt: 2, executor: OTHER_EXECUTOR });
    await appendAll(bed.log, queued(run), assigned(run), started(run), requeued(run), second);
    await store(bed.log, attemptOf(run), aChunk(0, 2, 'first'), aChunk(4, 2, 'first'));
    await store(bed.log, attemptOf(run, 2, OTHER_EXECUTOR), aChunk(0, 2, 'second'));
    const facts = [started(run), succeeded(run)];
    const of2 = facts.map((fact) => ({ ...fact, attempt: 2, executor_id: OTHER_EXECUTOR }));
    await appendAll(bed.log, ...of2);
    const whole = await readToEnd(gateway.logsOf(run, '?follow=1'), key);
    expect(shown(whole)).toHaveLength(8);
    const ids = whole.events.flatMap(({ idText }) => idText ?? []);
    for (const [index, idText] of ids.slice(0, -2).entries()) {
      const rest = await readToEnd(other.logsOf(run, '?follow=1'), key, { after: idText });
      expect(shown(rest)).toEqual(shown(whole).slice(index + 1));
    }
    const after = whole.events.at(-1)?.idText ?? '';
    await using nothing = await openEventSource(other.logsOf(run, '?follow=1'), key, { after });
    expect(nothing.status).toBe(204);
  });

  it('sends the last lines only, and what follows', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    await store(bed.log, attemptOf(run), aChunk(0, 5));
    await using source = await openEventSource(gateway.logsOf(run, '?follow=1&tail=2'), key);
    await has(source, 'line 4');
    await store(bed.log, attemptOf(run), aChunk(0, 6));
    await has(source, 'line 5');
    expect(shown(source)).toEqual(['line 3', 'line 4', 'line 5']);
  });

  it('ends with its attempt when it is about one', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run), requeued(run));
    await store(bed.log, attemptOf(run), aChunk(0, 1));
    const source = await readToEnd(gateway.logsOf(run, '?follow=1&attempt=1'), key);
    expect(shown(source)).toEqual(['line 0', { end: 'queued' }]);
  });
});

import { RunLogCut, RunLogLine } from '@runledger/contracts/http/runs/run-logs';
import { assigned, aRun, OTHER_EXECUTOR, queued, requeued, started } from '@runledger/testing/run-events';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aTenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { aChunk, attemptOf, itemsIn, linesIn, store } from './some-logs.ts';

let bed: TestBed;
let key: string;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  ({ key } = bed.tenant);
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const ownRun = () => aRun(bed.tenant.org_id);
const Line = Compile(RunLogLine);
const Cut = Compile(RunLogCut);
const linesOf = async (run: { readonly run_id: string }, query = ''): Promise<unknown[]> =>
  linesIn(await text(run, query));
const text = async (run: { readonly run_id: string }, query = ''): Promise<string> => {
  const response = await fetch(gateway.logsOf(run, query), { headers: { authorization: `Bearer ${key}` } });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  return response.text();
};

describe('the logs of a run', () => {
  it('are empty before it executes', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run));
    expect(await text(run)).toBe('');
  });

  it('are shown while it executes, one object a line, with what is missing', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    await store(bed.log, attemptOf(run), aChunk(0, 2), aChunk(5, 1));
    const items = itemsIn(await text(run));
    expect(items.map(({ line, cut }) => line ?? cut)).toEqual([
      'line 0',
      'line 1',
      { lines: 3, bytes: 30 },
      'line 5',
    ]);
    expect(items.filter((item) => !Line.Check(item) && !Cut.Check(item))).toEqual([]);
    expect(items[0]).toEqual({
      at: '2026-01-01T00:00:00.000Z',
      attempt: 1,
      stream: 'stdout',
      line: 'line 0',
    });
  });

  it('are those of all attempts in order, of one, or the last lines', async () => {
    const run = ownRun();
    const second = assigned(run, { attempt: 2, executor: OTHER_EXECUTOR });
    await appendAll(bed.log, queued(run), assigned(run), started(run), requeued(run), second);
    await store(bed.log, attemptOf(run), aChunk(0, 3, 'first'));
    await store(bed.log, attemptOf(run, 2, OTHER_EXECUTOR), aChunk(0, 2, 'second'));
    expect(await linesOf(run)).toEqual(['first 0', 'first 1', 'first 2', 'second 0', 'second 1']);
    expect(await linesOf(run, '?attempt=1')).toEqual(['first 0', 'first 1', 'first 2']);
    expect(await linesOf(run, '?attempt=3')).toEqual([]);
    expect(await linesOf(run, '?tail=1')).toEqual(['second 1']);
    expect(await linesOf(run, '?tail=3')).toEqual(['first 2', 'second 0', 'second 1']);
    expect(await linesOf(run, '?tail=1&attempt=1')).toEqual(['first 2']);
    expect(await linesOf(run, '?tail=100')).toHaveLength(5);
  });

  it('show nothing that another executor wrote under the name of the run', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    await store(bed.log, attemptOf(run, 1, OTHER_EXECUTOR), aChunk(0, 1, 'forged'));
    await store(bed.log, attemptOf(run, 2), aChunk(0, 1, 'forged'));
    expect(await text(run)).toBe('');
  });

  it('do not exist for another organisation, and for a run that does not exist', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    await store(bed.log, attemptOf(run), aChunk(0, 1));
    const other = await aTenant(bed.log);
    expect((await call(gateway.logsOf(run), other.key)).status).toBe(404);
    expect((await call(gateway.logsOf(ownRun()), key)).status).toBe(404);
    expect((await call(gateway.logsOf(ownRun(), '?follow=1'), key)).status).toBe(404);
  });

  it.each(['attempt=0', 'tail=0', 'tail=x', 'follow=perhaps'])('are refused with %s', async (query) => {
    expect((await call(gateway.logsOf(ownRun(), `?${query}`), key)).status).toBe(422);
  });
});

import { newUuid } from '@runledger/contracts/ids';
import { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { call } from '../../fixtures/requests/requests.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openEventSource, readToEnd } from './an-event-source.ts';
import { anOutput, FILE_KEY } from '../../fixtures/runs/an-output.ts';
import { factsFor, situations } from '../../fixtures/runs/run-situations.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let key: string;
let gateway: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  key = bed.tenant.key;
  const environment = { RUNLEDGER_PUBLIC_URL: 'https://runs.example' };
  gateway = await bed.gateway({ environment });
  other = await bed.gateway({ environment });
});
afterAll(() => bed[Symbol.asyncDispose]());

const ownRun = () => aRun(bed.tenant.org_id);
const Fact = Compile(RunFactEvent);

describe.each(situations.filter(({ is }) => is.finished))('a run that is $name', ({ events }) => {
  it('is streamed from its first fact to its last, and then the stream closes', async () => {
    const run = ownRun();
    const last = await appendAll(bed.log, ...factsFor(run, events));
    const source = await readToEnd(gateway.eventsOf(run), key);
    const received = source.facts();
    expect(received.map(({ data }) => [data.type, data.attempt])).toEqual(
      events.map(({ type, attempt }) => [type, attempt]),
    );
    expect(received.map(({ id }) => id)).toEqual(received.map(({ data }) => data.sequence));
    expect(received.at(-1)?.id).toBe(last);
    expect(received.map(({ data }) => data.finished)).toEqual(events.map((_, n) => n === events.length - 1));
    expect(received.filter(({ data }) => !Fact.Check(data))).toEqual([]);
  });

  it('is streamed by any gateway from any fact on, without loss or repeat', async () => {
    const run = ownRun();
    await appendAll(bed.log, ...factsFor(run, events));
    const whole = (await readToEnd(gateway.eventsOf(run), key)).facts();
    for (const [index, { id }] of whole.slice(0, -1).entries()) {
      const rest = await readToEnd(other.eventsOf(run), key, { after: id ?? '' });
      expect([...whole.slice(0, index + 1), ...rest.facts()]).toEqual(whole);
    }
    const behind = await openEventSource(other.eventsOf(run), key, { after: whole.at(-1)?.id ?? '' });
    expect(behind.status).toBe(204);
  });
});

describe('a stream', () => {
  it('has headers that prevent caching and buffering', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run));
    await using source = await openEventSource(gateway.eventsOf(run), key);
    expect(source.status).toBe(200);
    expect(
      ['content-type', 'cache-control', 'x-accel-buffering', 'api-version'].map((name) =>
        source.headers.get(name),
      ),
    ).toEqual(['text/event-stream', 'no-store', 'no', 'V2']);
    const head = await call(gateway.eventsOf(run), key, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), head.body]).toEqual([
      200,
      'text/event-stream',
      '',
    ]);
  });

  it('sends each fact once, at every gateway, when it is stored', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run));
    const sources = await Promise.all(
      [gateway, gateway, other].map((one) => openEventSource(one.eventsOf(run), key)),
    );
    for (const [index, event] of [assigned(run), started(run), succeeded(run, [anOutput])].entries()) {
      await waitFor('what is there', () => sources.every((source) => source.facts().length === index + 1));
      await appendAll(bed.log, event);
    }
    await Promise.all(sources.map(({ ended }) => ended));
    const [first] = sources;
    expect(first?.facts().map(({ data }) => data.status)).toEqual([
      'queued',
      'started',
      'running',
      'success',
    ]);
    for (const source of sources) expect(source.facts()).toEqual(first?.facts());
  });

  it('shows the run as a GET does, with its outputs at the end', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run, [anOutput]));
    const facts = (await readToEnd(gateway.eventsOf(run), key)).facts().map(({ data }) => data);
    expect(facts.map((fact) => [fact.live_status, fact.progress, 'outputs' in fact])).toEqual([
      ['waiting for an A10G', 0, false],
      ['starting on an A10G', 0, false],
      ['running', 0, false],
      [null, 1, true],
    ]);
    expect(facts.at(-1)).toMatchObject({
      end_reason: 'completed',
      outputs: [
        {
          run_id: run.run_id,
          data: {
            text: ['done'],
            images: [{ url: `https://runs.example/outputs/${FILE_KEY}/a%20b.png` }],
          },
        },
      ],
    });
  });

  it('begins with the first fact when the log does not have the Last-Event-ID', async () => {
    const run = ownRun();
    const last = await appendAll(bed.log, queued(run));
    await using source = await openEventSource(gateway.eventsOf(run), key, { after: last + 1_000 });
    await waitFor('the first fact', () => source.facts().length === 1);
  });

  it.each(['-1', 'abc', '1.5', '99999999999999999999', '1 2'])('is refused behind %j', async (after) => {
    const run = ownRun();
    await appendAll(bed.log, queued(run));
    const { status, body } = await call(gateway.eventsOf(run), key, { headers: { 'last-event-id': after } });
    expect(status).toBe(422);
    expect(body.detail).toEqual([
      { loc: ['header', 'Last-Event-ID'], type: 'int_parsing', msg: expect.any(String) },
    ]);
  });

  it('is refused for an unknown run, for a run of another organisation, and without a key', async () => {
    const foreign = aRun();
    await appendAll(bed.log, queued(foreign));
    for (const run of [foreign, { run_id: newUuid() }]) {
      const { status, body } = await call(gateway.eventsOf(run), key);
      expect([status, body]).toEqual([404, aRefusal('run_not_found', 'Run not found')]);
    }
    expect((await call(gateway.eventsOf(foreign), null)).status).toBe(401);
  });
});

import { setImmediate } from 'node:timers/promises';
import type { DeliveryAttempt, DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { newUuid } from '@runledger/contracts/ids';
import { NO_CONTENT, type SliceContent, type SliceLine } from '@runledger/contracts/slices/slice';
import {
  aRun,
  assigned,
  LATER_TYPE,
  queued,
  requeued,
  runEvent,
  started,
  storeOfLaterType,
} from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { appendFleet } from '../../src/append/append-fleet.ts';
import { head } from '../../src/read/read-run.ts';
import { SliceRefused, type SliceSpan } from '../../src/slices/slice-sources.ts';
import { captureSlice, type SliceRequest } from '../../src/slices/capture-slice.ts';
import { recordDeliveryAttempt, recordDeliveryState } from '../../src/streams/delivery-attempts.ts';
import { aLog, forge, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const ALWAYS: SliceSpan = {
  from: '2000-01-01T00:00:00.000Z',
  to: '2100-01-01T00:00:00.000Z',
  warm_up_from: '2000-01-01T00:00:00.000Z',
};

const ALL: SliceRequest = {
  span: ALWAYS,
  organisations: [],
  deployments: [],
  runs: [],
  content: NO_CONTENT,
  now: ALWAYS.to,
  pseudonym: () => 'f'.repeat(32),
  pace: async () => undefined,
};

const linesOf = async (changes: Partial<SliceRequest> = {}, log = test.log): Promise<SliceLine[]> => {
  const lines: SliceLine[] = [];
  for await (const page of captureSlice(log, { ...ALL, ...changes })) lines.push(...page);
  return lines;
};

const namesOf = (lines: readonly SliceLine[]): string[] =>
  lines.map((line) => {
    if (line.kind === 'gap') return `gap ${line.stream} ${line.first_sequence}-${line.last_sequence}`;
    if (line.kind !== 'fact') return line.kind;
    const { type, reason, state } = (line.event ?? {}) as Record<string, string | undefined>;
    return `${line.stream} ${line.sequence} ${type ?? reason ?? state ?? 'nothing'}`;
  });

const attempt: DeliveryAttempt = {
  version: 1,
  notification: 'final',
  webhook_id: 'msg_1',
  round: 1,
  try: 1,
  url: 'https://receiver.example/hook',
  started_at: ALWAYS.from,
  phases: { dns: null, connect: null, tls: null, wait: null, body: null },
  reason: 'server_error',
  message: 'the example is closed',
  status: 503,
  answer: null,
};
const retrying: DeliveryState = {
  version: 1,
  round: 1,
  state: 'retrying',
  tries: 1,
  next_try_at: ALWAYS.to,
  last_reason: null,
  message: null,
  at: ALWAYS.from,
};

const storedAt = async (appended: ReturnType<typeof append>): Promise<number> => {
  const result = await appended;
  if (result.kind !== 'appended') throw new Error(`the append was refused: ${result.kind}`);
  return result.sequence;
};

const timeOf = (lines: readonly SliceLine[], sequence: number): string => {
  const found = lines.find(
    (line) => line.kind === 'fact' && line.stream === 'RUNS' && line.sequence === sequence,
  );
  return found?.kind === 'fact' ? found.time : 'none';
};

describe('a slice of the log', () => {
  const [one, other] = [aRun(), aRun()];
  const deployment_id = newUuid();
  beforeAll(async () => {
    const { log } = test;
    const left = (executor_id: string) =>
      appendFleet(log, {
        type: 'ExecutorLeft',
        version: 1,
        event_id: newUuid(),
        executor_id,
        time: ALWAYS.from,
      });
    const stored = [
      () => left('a.1'),
      () => append(log, queued(one, { inputs: { prompt: 'a cat', style: 'in oil' } }), 0),
      () => append(log, queued(other, { deployment_id }), 0),
      () => append(log, webhookStarted(one), 0),
      () => left('b.1'),
      async () => append(log, assigned(one), await head(log, one)),
      () => forge(log, `runs.${one.org_id}.${one.run_id}.life.started.executor.1.a.1`, { prompt: 'a dog' }),
      () => left('c.1'),
      () => recordDeliveryState(log, one, retrying),
      () => recordDeliveryAttempt(log, one, attempt),
      () => recordDeliveryState(log, one, retrying),
    ];
    for (const store of stored) {
      // Times of the log have milliseconds; then the order of the two streams is known.
      const now = Date.now();
      await waitFor('the next millisecond', () => Date.now() > now);
      await store();
    }
  });

  it('has the facts of runs, of the fleet and of deliveries in the order in which they were stored', async () => {
    expect(namesOf(await linesOf())).toEqual([
      'header',
      'FLEET 1 ExecutorLeft',
      'RUNS 1 RunQueued',
      'RUNS 2 RunQueued',
      'RUNS 3 WebhookStarted',
      'FLEET 2 ExecutorLeft',
      'RUNS 4 RunAssigned',
      'RUNS 5 nothing',
      'FLEET 3 ExecutorLeft',
      // The state was replaced.
      'gap DELIVERY_ATTEMPTS 1-1',
      'DELIVERY_ATTEMPTS 2 server_error',
      'DELIVERY_ATTEMPTS 3 retrying',
      'end',
    ]);
  });

  it('has no more of what an executor wrote in a later version, and stops at that of a service', async () => {
    await using own = await aLog();
    const { log } = own;
    const key = aRun();
    const of = async (event: RunEvent): Promise<number> =>
      storedAt(append(log, { ...event, version: 9 }, await head(log, key)));
    await storedAt(append(log, queued(key), 0));
    await storedAt(append(log, assigned(key), await head(log, key)));
    const first = await of(started(key));
    await log.js.publish('fleet.a.1.left', JSON.stringify({ type: 'ExecutorLeft', version: 9 }));
    const madeUp = await storeOfLaterType(log, started(key), first);
    const lines = await linesOf({}, log);
    const eventOf = (stream: string, sequence: number): unknown =>
      lines.flatMap((line) =>
        line.kind === 'fact' && line.stream === stream && line.sequence === sequence ? [line.event] : [],
      )[0];
    expect(eventOf('RUNS', first)).toEqual({ type: 'RunStarted', version: 9 });
    expect(eventOf('RUNS', madeUp)).toEqual({ type: LATER_TYPE, version: 1 });
    expect(eventOf('FLEET', 1)).toBeNull();
    await of(requeued(key));
    await expect(linesOf({}, log)).rejects.toThrow(
      'RunRequeued in version 9, which this release cannot read',
    );
  });

  it('has no inputs, addresses or texts, and nothing of a message that is no event', async () => {
    expect(JSON.stringify(await linesOf())).not.toMatch(/a cat|a dog|example/);
  });

  it('has what it is asked to keep, and says so', async () => {
    const content: SliceContent = { kept: ['inputs', 'texts'], masked: { inputs: ['/style'] } };
    const lines = await linesOf({ content });
    expect(lines[0]).toMatchObject({ content });
    const text = JSON.stringify(lines);
    expect(text).toContain(`"inputs":{"prompt":"a cat","style":"${'f'.repeat(32)}"}`);
    expect(text).toContain('the example is closed');
    expect(text).not.toMatch(/a dog|in oil|receiver\.example/);
  });

  it('begins with the warm-up and ends before the given time; of the fleet it has all before', async () => {
    const all = await linesOf();
    const span = { warm_up_from: timeOf(all, 2), from: timeOf(all, 4), to: timeOf(all, 5) };
    expect(namesOf(await linesOf({ span }))).toEqual([
      'header',
      'FLEET 1 ExecutorLeft',
      'RUNS 2 RunQueued',
      'RUNS 3 WebhookStarted',
      'FLEET 2 ExecutorLeft',
      'RUNS 4 RunAssigned',
      'end',
    ]);
    expect((await linesOf({ span }))[0]).toMatchObject({
      ...span,
      streams: {
        RUNS: { first_sequence: 1, last_sequence: 5 },
        FLEET: { last_sequence: 3 },
        DELIVERY_ATTEMPTS: { last_sequence: 3 },
      },
    });
  });

  it('has the runs of organisations and of deployments, if it is asked for them, and of both', async () => {
    const runsOf = async (changes: Partial<SliceRequest>): Promise<string[]> =>
      namesOf(await linesOf(changes)).filter((name) => !/^FLEET|^gap|header|end/.test(name));
    expect(await runsOf({ organisations: [other.org_id] })).toEqual(['RUNS 2 RunQueued']);
    expect(await runsOf({ deployments: [deployment_id] })).toEqual(['RUNS 2 RunQueued']);
    expect(await runsOf({ organisations: [one.org_id], deployments: [deployment_id] })).toEqual([]);
    expect(await runsOf({ organisations: [one.org_id, other.org_id] })).toHaveLength(7);
  });

  it('is empty for a time in which nothing was stored', async () => {
    const later = '2099-01-01T00:00:00.000Z';
    const never = { ...ALWAYS, warm_up_from: later, from: later };
    expect(namesOf(await linesOf({ span: never })).filter((name) => name.startsWith('RUNS'))).toEqual([]);
    expect(namesOf(await linesOf({ span: { ...ALWAYS, to: ALWAYS.from } }))).toEqual(['header', 'end']);
  });

  it('reads over pages, and is paced by each', async () => {
    const org = newUuid();
    for (let n = 0; n < 12; n += 1)
      await Promise.all(Array.from({ length: 100 }, () => append(test.log, queued(aRun(org)), 0)));
    const paced: number[] = [];
    const names = namesOf(await linesOf({ pace: async (messages) => void paced.push(messages) }));
    expect(names.filter((name) => name.startsWith('RUNS'))).toHaveLength(1_205);
    expect(paced.reduce((sum, messages) => sum + messages, 0)).toBeGreaterThanOrEqual(1_024);
  });
});

describe('a log that has lost its beginning', () => {
  it('shows the gap', async () => {
    await using short = await aLog();
    const run = aRun();
    await append(short.log, queued(run), 0);
    await append(short.log, assigned(run), 1);
    await append(short.log, started(run), 2);
    // As the age of facts does.
    const info = await short.log.jsm.streams.info('RUNS');
    await short.log.jsm.streams.update('RUNS', { ...info.config, discard: 'old', max_msgs: 1 });
    const life = ['gap RUNS 1-2', 'RUNS 3 RunStarted', 'end'];
    expect(namesOf(await linesOf({}, short.log))).toEqual(['header', ...life]);
    const ofRun = await linesOf({ runs: [run.run_id], span: null }, short.log);
    expect(namesOf(ofRun)).toEqual(['header', ...life]);
  });
});

describe('a slice of runs', () => {
  const run = aRun();
  const now = new Date(Date.now() + 3_600_000).toISOString();
  const ofRuns = (changes: Partial<SliceRequest> = {}): Promise<SliceLine[]> =>
    linesOf({ runs: [run.run_id], span: null, now, ...changes });
  let firsts: readonly [number, number];
  beforeAll(async () => {
    const { log } = test;
    const first = await storedAt(append(log, queued(run), 0));
    await append(log, queued(aRun()), 0);
    // A span is given in milliseconds.
    const millisecond = Date.now();
    while (Date.now() === millisecond) await setImmediate();
    const second = await storedAt(append(log, assigned(run), first));
    await append(log, webhookStarted(run), 0);
    await recordDeliveryAttempt(log, run, attempt);
    firsts = [first, second];
  });

  it('has all that the log holds of them, and the fleet of that time', async () => {
    const [first, second] = firsts;
    const lines = await ofRuns();
    expect(namesOf(lines)).toEqual([
      'header',
      'FLEET 1 ExecutorLeft',
      'FLEET 2 ExecutorLeft',
      'FLEET 3 ExecutorLeft',
      `RUNS ${first} RunQueued`,
      `RUNS ${second} RunAssigned`,
      `RUNS ${second + 1} WebhookStarted`,
      'DELIVERY_ATTEMPTS 4 server_error',
      'end',
    ]);
    expect(lines[0]).toMatchObject({ runs: [run.run_id], from: timeOf(lines, first), to: now });
  });

  it('ends with the last fact of a run that has ended', async () => {
    const ended = aRun();
    const at = await storedAt(append(test.log, queued(ended), 0));
    const expired = runEvent('RunCancelEnforced', ended, {
      attempt: 0,
      executor: null,
      data: { message: '' },
    });
    await append(test.log, expired, at);
    const lines = await ofRuns({ runs: [ended.run_id] });
    const last = lines.findLast((line) => line.kind === 'fact');
    expect(lines[0]).toMatchObject({
      to: new Date(Date.parse(last?.kind === 'fact' ? last.time : '') + 1).toISOString(),
    });
  });

  it('is of a part of their time, if it is asked for that', async () => {
    const [first, second] = firsts;
    const all = await ofRuns();
    const span = { ...ALWAYS, to: timeOf(all, second) };
    expect(namesOf(await ofRuns({ span }))).toContain(`RUNS ${first} RunQueued`);
    expect(namesOf(await ofRuns({ span }))).not.toContain(`RUNS ${second} RunAssigned`);
  });

  it('reads only these, and the fleet', async () => {
    const paced: number[] = [];
    await ofRuns({ pace: async (messages) => void paced.push(messages) });
    expect(paced).toEqual([4]);
  });

  it('is refused for a run that the log does not have, or not of that organisation', async () => {
    await expect(ofRuns({ runs: [aRun().run_id] })).rejects.toThrow(SliceRefused);
    await expect(ofRuns({ organisations: [newUuid()] })).rejects.toThrow(
      'of these organisations. Check the id.',
    );
  });
});

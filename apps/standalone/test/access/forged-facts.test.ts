import { executorId, type ExecutorId } from '@runledger/contracts/ids';
import { lifecycleFilter, runEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { append, appendOwn, type Appended } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, cancelRequested, queued, started, succeeded } from '@runledger/testing/run-events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aGuardedBroker, type GuardedBroker } from './a-guarded-broker.ts';

const A = executorId('a.000000000001');
const B = executorId('b.000000000001');

let broker: GuardedBroker;
let gateway: EventLog;
let scheduler: EventLog;
let hostile: EventLog;
let honest: EventLog;
beforeAll(async () => {
  broker = await aGuardedBroker();
  gateway = await broker.open('gateway');
  scheduler = await broker.open('scheduler');
  hostile = await broker.open('executor-a');
  honest = await broker.open('executor-b');
});
afterAll(() => broker[Symbol.asyncDispose]());

const stored = (appended: Appended | { readonly kind: 'conflict' }): number => {
  if (appended.kind !== 'appended') throw new Error(`not appended: ${appended.kind}`);
  return appended.sequence;
};

/** A run on executor b, and the sequence of its last fact. */
let key: RunKey;
let head: number;
beforeEach(async () => {
  key = aRun();
  head = stored(await append(gateway, queued(key), 0));
  head = stored(await append(scheduler, assigned(key, { executor: B }), head));
  head = stored(await appendOwn(honest, started(key, 1, B), head));
});

/** As the broker permits it: any payload, under an allowed subject, with any condition. */
const publishForged = async (
  log: EventLog,
  subject: string,
  body: object,
  fence?: { readonly filter: string; readonly sequence: number },
): Promise<number> => {
  const expect = fence && { lastSubjectSequence: fence.sequence, lastSubjectSequenceSubject: fence.filter };
  return (await log.js.publish(subject, JSON.stringify(body), expect ? { expect } : {})).seq;
};

/** The success of the first attempt on this executor. */
const endOn = (executor: ExecutorId) => ({ ...succeeded(key), executor_id: executor });

const readAs = async (log: EventLog) => {
  const read = await readRun(log, key);
  if (read.kind !== 'found') throw new Error(`the run is ${read.kind}`);
  return {
    status: read.run.status,
    head: read.history.head,
    refused: read.refused.map(({ refusal }) => refusal),
  };
};

describe('a message about a run of another executor, stored under the own subjects of an executor', () => {
  it('ends nothing, even with the expected sequence, and the run continues after it', async () => {
    const forged = stored(await appendOwn(hostile, endOn(A), head));
    for (const log of [gateway, scheduler]) {
      expect(await readAs(log)).toEqual({ status: 'running', head: forged, refused: ['impossible'] });
    }
    const end = stored(await appendOwn(honest, endOn(B), forged));
    expect(await readAs(gateway)).toMatchObject({ status: 'success', head: end });
  });

  it("ends nothing in the other's name", async () => {
    const fence = { filter: lifecycleFilter(key), sequence: head };
    const forged = await publishForged(hostile, runEventSubject(endOn(A)), endOn(B), fence);
    expect(await readAs(gateway)).toEqual({ status: 'running', head: forged, refused: ['wrong_subject'] });
  });

  it.each([
    ['no fence', undefined],
    ['a fence on its own subject', { filter: 'runs.*.*.life.ended.executor.1.a.nobody', sequence: 0 }],
  ])('ends nothing with %s', async (_what, fence) => {
    const forged = await publishForged(hostile, runEventSubject(endOn(A)), endOn(A), fence);
    expect(await readAs(gateway)).toEqual({ status: 'running', head: forged, refused: ['forged_fence'] });
  });
});

describe('a message that is stored with the key of a gateway', () => {
  it.each([
    ['no fence', () => undefined],
    ['a fence on its own subject', () => ({ filter: runEventSubject(cancelRequested(key)), sequence: 0 })],
    ['a fence on another run', () => ({ filter: lifecycleFilter(aRun()), sequence: 0 })],
  ])('cancels nothing with %s', async (_what, fence) => {
    const event = cancelRequested(key);
    const forged = await publishForged(gateway, runEventSubject(event), event, fence());
    expect(await readAs(scheduler)).toEqual({ status: 'running', head: forged, refused: ['forged_fence'] });
  });

  it('queues no run twice', async () => {
    const fence = { filter: lifecycleFilter(key), sequence: head };
    const forged = await publishForged(gateway, runEventSubject(queued(key)), queued(key), fence);
    expect(await readAs(scheduler)).toEqual({ status: 'running', head: forged, refused: ['impossible'] });
  });

  it('ends no run under its own subject', async () => {
    const fence = { filter: lifecycleFilter(key), sequence: head };
    const forged = await publishForged(gateway, runEventSubject(cancelRequested(key)), endOn(B), fence);
    expect(await readAs(scheduler)).toEqual({ status: 'running', head: forged, refused: ['wrong_subject'] });
  });
});

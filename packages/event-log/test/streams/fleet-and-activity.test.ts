import { newUuid } from '@runledger/contracts/ids';
import { ALL_FLEET, parseFleetEvent, type FleetEvent } from '@runledger/contracts/events/fleet-event';
import { progressSubject } from '@runledger/contracts/events/progress';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastProgress, reportProgress } from '../../src/streams/activity.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { appendFleet } from '../../src/append/append-fleet.ts';
import { follow } from '../../src/follow/follow.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';
import { aRun, EXECUTOR, OTHER_EXECUTOR } from '@runledger/testing/run-events';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const time = '2026-01-01T00:00:00.000Z';
const left = (): FleetEvent => ({
  type: 'ExecutorLeft',
  version: 1,
  event_id: newUuid(),
  executor_id: EXECUTOR,
  time,
});

describe('the fleet', () => {
  it('stores a fact once, also when it is appended again, and can be followed', async () => {
    const event = left();
    const sequence = await appendFleet(log, event);
    expect(await appendFleet(log, event)).toBe(sequence);
    const seen: unknown[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await follow(log, {
        stream: 'FLEET',
        subjects: [ALL_FLEET],
        after: 0,
        onBatch: async (messages) => void seen.push(...messages.map(({ body }) => parseFleetEvent(body))),
      }),
    );
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual([{ kind: 'event', event }]);
  });

  it('distinguishes an event of a later release from an invalid one', () => {
    expect(parseFleetEvent({ ...left(), version: 2 })).toEqual({
      kind: 'newer_version',
      type: 'ExecutorLeft',
      version: 2,
    });
    expect(parseFleetEvent({ ...left(), type: 'ExecutorPainted' })).toEqual({
      kind: 'newer_version',
      type: 'ExecutorPainted',
      version: 1,
    });
    expect(parseFleetEvent({ ...left(), executor_id: '' })).toMatchObject({ kind: 'invalid' });
    expect(parseFleetEvent(undefined)).toMatchObject({ kind: 'invalid' });
  });
});

describe('progress', () => {
  it('is the last report of this attempt on this executor', async () => {
    const run = aRun();
    for (const progress of [0.1, 0.5])
      reportProgress(log, run, 1, EXECUTOR, { progress, live_status: null, time });
    reportProgress(log, run, 2, OTHER_EXECUTOR, { progress: 0.2, live_status: 'sampling', time });
    await expect
      .poll(() => lastProgress(log, run, 2, OTHER_EXECUTOR), { timeout: 10_000 })
      .toEqual({ progress: 0.2, live_status: 'sampling', time });
    await expect
      .poll(() => lastProgress(log, run, 1, EXECUTOR), { timeout: 10_000 })
      .toMatchObject({ progress: 0.5 });
    expect(await lastProgress(log, run, 1, OTHER_EXECUTOR)).toBeUndefined();
    expect(await lastProgress(log, aRun(), 1, EXECUTOR)).toBeUndefined();
  });

  it('is undefined when the report is invalid', async () => {
    const run = aRun();
    await log.js.publish(progressSubject(run, 1, EXECUTOR), '{"progress": 7}');
    expect(await lastProgress(log, run, 1, EXECUTOR)).toBeUndefined();
  });
});

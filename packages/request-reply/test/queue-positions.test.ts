import { newUuid } from '@runledger/contracts/ids';
import {
  MAX_REQUESTED_POSITIONS,
  QUEUE_POSITIONS_SUBJECT,
  type QueuePosition,
} from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { aRun } from '@runledger/testing/events/run-events';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondWithQueuePositions, requestQueuePositions } from '../src/queue-positions.ts';
import { anEmptyLog, type TestLog } from '@runledger/event-log/test/fixtures/test-log';

let test: TestLog;
/** Of one who asks. */
let log: EventLog;
/** Of the scheduler. */
let own: EventLog;
beforeAll(async () => {
  test = await anEmptyLog();
  log = test.log;
  own = await test.open();
});
afterAll(() => test[Symbol.asyncDispose]());

const PATIENT_MS = 10_000;
const busy = (ahead: number): QueuePosition => ({ ahead, capacity: 'busy' });

/** Answers, as the broker knows, until it is disposed of. */
const answering = async (
  placesOf: Parameters<typeof respondWithQueuePositions>[1],
  on: EventLog = own,
): Promise<AsyncDisposable> => {
  const open = respondWithQueuePositions(on, placesOf);
  await on.nc.flush();
  return {
    [Symbol.asyncDispose]: async () => {
      open[Symbol.dispose]();
      await on.nc.flush();
    },
  };
};

describe('the places of runs', () => {
  it('come in the order of the question, nothing for a run that does not wait', async () => {
    const keys = [aRun(), aRun(), aRun()];
    const places = [busy(0), undefined, { ahead: 3, capacity: 'not_served' } as const];
    const asked: (readonly RunKey[])[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await answering((of) => {
        asked.push(of);
        return places;
      }),
    );
    expect(await requestQueuePositions(log, keys, PATIENT_MS)).toEqual(places);
    expect(asked).toEqual([keys]);
  });

  it('are not to be had while no scheduler leads, and nobody waits for them', async () => {
    // Longer than a test may take: the broker says at once that nobody answers.
    expect(await requestQueuePositions(log, [aRun()], 600_000)).toBeUndefined();
  });

  it('are not told any more by a scheduler that stands by', async () => {
    const leading = await answering((keys) => keys.map(() => busy(0)));
    expect(await requestQueuePositions(log, [aRun()], PATIENT_MS)).toEqual([busy(0)]);
    await leading[Symbol.asyncDispose]();
    expect(await requestQueuePositions(log, [aRun()], PATIENT_MS)).toBeUndefined();
  });

  it('are not to be had when the answer does not come in time', async () => {
    let asked = 0;
    await using open = new AsyncDisposableStack();
    open.use(
      await answering(() => {
        asked += 1;
        return undefined;
      }),
    );
    expect(await requestQueuePositions(log, [aRun()], 50)).toBeUndefined();
    await waitFor('the question to come', () => asked === 1);
  });

  it.each([
    ['is no JSON', 'here'],
    ['is of another form', JSON.stringify({ places: 'none' })],
    ['gives a place that is none', JSON.stringify({ places: [{ ahead: -1, capacity: 'busy' }] })],
    ['says what only a later release knows', JSON.stringify({ places: [{ ahead: 1, capacity: 'asleep' }] })],
    ['tells too many', JSON.stringify({ places: [null, null] })],
  ])('are not to be had from an answer that %s', async (_what, answer) => {
    const stranger = own.nc.subscribe(QUEUE_POSITIONS_SUBJECT, {
      callback: (_error, message) => void message.respond(answer),
    });
    await own.nc.flush();
    expect(await requestQueuePositions(log, [aRun()], PATIENT_MS)).toBeUndefined();
    stranger.unsubscribe();
    await own.nc.flush();
  });

  it('are still told after questions that are none, and after one that could not be answered', async () => {
    let fails = true;
    let asked = 0;
    await using open = new AsyncDisposableStack();
    open.use(
      await answering((keys) => {
        asked += 1;
        if (fails) throw new Error('not today');
        return keys.map(() => busy(1));
      }),
    );
    const key = aRun();
    for (const wrong of [
      '',
      'no json',
      '{}',
      JSON.stringify({ runs: [] }),
      JSON.stringify({ runs: [{ ...key, org_id: 'everybody' }] }),
      JSON.stringify({ runs: [{ ...key, run_id: newUuid().toUpperCase() }] }),
      JSON.stringify({ runs: Array.from({ length: MAX_REQUESTED_POSITIONS + 1 }, () => key) }),
    ]) {
      log.nc.publish(QUEUE_POSITIONS_SUBJECT, wrong);
    }
    expect(await requestQueuePositions(log, [key], 50)).toBeUndefined();
    await waitFor('the question to come', () => asked > 0);
    fails = false;
    expect(await requestQueuePositions(log, [key], PATIENT_MS)).toEqual([busy(1)]);
    expect(asked).toBe(2);
  });

  it('are told again when the broker has been away, and not asked for meanwhile', async () => {
    await using away = await anEmptyLog();
    await using open = new AsyncDisposableStack();
    open.use(await answering((keys) => keys.map(() => busy(2)), await away.open()));
    await away.nats.kill9();
    await waitFor('the connection to be lost', () => !away.log.connected());
    expect(await requestQueuePositions(away.log, [aRun()], 600_000)).toBeUndefined();
    await away.nats.restart();
    const places = await waitFor('an answer', () => requestQueuePositions(away.log, [aRun()], 1_000));
    expect(places).toEqual([busy(2)]);
  });

  it('are asked of no more runs than one question may have', async () => {
    const keys = Array.from({ length: MAX_REQUESTED_POSITIONS + 1 }, () => aRun());
    await expect(requestQueuePositions(log, keys, PATIENT_MS)).rejects.toThrow(RangeError);
    expect(await requestQueuePositions(log, [], PATIENT_MS)).toBeUndefined();
  });
});

import { newUuid } from '@runledger/contracts/ids';
import {
  MAX_REQUESTED_POSITIONS,
  QUEUE_POSITIONS_SUBJECT,
  type QueuePosition,
} from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondWithQueuePositions, requestQueuePositions } from '../src/queue-positions.ts';
import { anEmptyLogOnOwnBroker } from '@runledger/event-log/test/fixtures/test-log';
import {
  requesterAndResponder,
  responding,
  type RequesterAndResponder,
} from './fixtures/requester-and-responder.ts';

let test: RequesterAndResponder;
let log: EventLog;
let responder: EventLog;
beforeAll(async () => {
  test = await requesterAndResponder();
  ({ log, responder } = test);
});
afterAll(() => test[Symbol.asyncDispose]());

const WITHIN_MS = 10_000;
const busy = (ahead: number): QueuePosition => ({ ahead, capacity: 'busy' });

const giving = (
  positionsOf: Parameters<typeof respondWithQueuePositions>[1],
  on: EventLog = responder,
): Promise<AsyncDisposable> => responding(on, respondWithQueuePositions(on, positionsOf));

describe('the queue positions of runs', () => {
  it('come in the order of the request, with undefined for a run that does not wait', async () => {
    const keys = [aRun(), aRun(), aRun()];
    const positions = [busy(0), undefined, { ahead: 3, capacity: 'not_served' } as const];
    const handled: (readonly RunKey[])[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await giving((of) => {
        handled.push(of);
        return positions;
      }),
    );
    expect(await requestQueuePositions(log, keys, WITHIN_MS)).toEqual(positions);
    expect(handled).toEqual([keys]);
  });

  it('are unknown at once while no scheduler leads', async () => {
    // Longer than a test may take: the broker says at once that nobody responds.
    expect(await requestQueuePositions(log, [aRun()], 600_000)).toBeUndefined();
  });

  it('do not come from a scheduler that no longer leads', async () => {
    const leading = await giving((keys) => keys.map(() => busy(0)));
    expect(await requestQueuePositions(log, [aRun()], WITHIN_MS)).toEqual([busy(0)]);
    await leading[Symbol.asyncDispose]();
    expect(await requestQueuePositions(log, [aRun()], WITHIN_MS)).toBeUndefined();
  });

  it('are unknown when the response does not come in time', async () => {
    let handled = 0;
    await using open = new AsyncDisposableStack();
    open.use(
      await giving(() => {
        handled += 1;
        return undefined;
      }),
    );
    expect(await requestQueuePositions(log, [aRun()], 50)).toBeUndefined();
    await waitFor('the request to arrive', () => handled === 1);
  });

  it.each([
    ['is not JSON', 'here'],
    ['has another form', JSON.stringify({ positions: 'none' })],
    ['holds an invalid position', JSON.stringify({ positions: [{ ahead: -1, capacity: 'busy' }] })],
    ['holds a value of a later release', JSON.stringify({ positions: [{ ahead: 1, capacity: 'asleep' }] })],
    ['holds too many', JSON.stringify({ positions: [null, null] })],
  ])('are unknown when the response %s', async (_what, response) => {
    const stranger = responder.nc.subscribe(QUEUE_POSITIONS_SUBJECT, {
      callback: (_error, message) => void message.respond(response),
    });
    await responder.nc.flush();
    expect(await requestQueuePositions(log, [aRun()], WITHIN_MS)).toBeUndefined();
    stranger.unsubscribe();
    await responder.nc.flush();
  });

  it('still come after invalid requests and after one whose handler threw', async () => {
    let fails = true;
    let handled = 0;
    await using open = new AsyncDisposableStack();
    open.use(
      await giving((keys) => {
        handled += 1;
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
    await waitFor('the request to arrive', () => handled > 0);
    fails = false;
    expect(await requestQueuePositions(log, [key], WITHIN_MS)).toEqual([busy(1)]);
    expect(handled).toBe(2);
  });

  it('come again after an outage of the broker, and are unknown at once during it', async () => {
    await using unavailable = await anEmptyLogOnOwnBroker();
    await using open = new AsyncDisposableStack();
    open.use(await giving((keys) => keys.map(() => busy(2)), await unavailable.open()));
    await unavailable.nats.kill9();
    await waitFor('the connection to be lost', () => !unavailable.log.connected());
    expect(await requestQueuePositions(unavailable.log, [aRun()], 600_000)).toBeUndefined();
    await unavailable.nats.restart();
    const positions = await waitFor('a response', () =>
      requestQueuePositions(unavailable.log, [aRun()], 1_000),
    );
    expect(positions).toEqual([busy(2)]);
  });

  it('cannot be requested for more runs than one request may have', async () => {
    const keys = Array.from({ length: MAX_REQUESTED_POSITIONS + 1 }, () => aRun());
    await expect(requestQueuePositions(log, keys, WITHIN_MS)).rejects.toThrow(RangeError);
    expect(await requestQueuePositions(log, [], WITHIN_MS)).toBeUndefined();
  });
});

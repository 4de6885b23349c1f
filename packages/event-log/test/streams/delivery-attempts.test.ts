import type { DeliveryState, DeliveryAttempt } from '@runledger/contracts/deliveries/delivery-attempts';
import { aRun } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  readDeliveries,
  readDeliveryStates,
  recordDeliveryState,
  recordDeliveryAttempt,
} from '../../src/streams/delivery-attempts.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const aTry = (changes: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  version: 1,
  notification: 'final',
  webhook_id: 'msg_1',
  round: 1,
  try: 1,
  url: 'https://example.com/hook',
  started_at: '2026-01-01T00:00:00.000Z',
  phases: { dns: 0.001, connect: 0.002, tls: null, wait: 0.01, body: 0 },
  reason: 'server_error',
  message: 'The receiver answered 500.',
  status: 500,
  answer: 'oh',
  ...changes,
});

const aState = (changes: Partial<DeliveryState> = {}): DeliveryState => ({
  version: 1,
  round: 1,
  state: 'retrying',
  tries: 1,
  next_try_at: '2026-01-01T00:00:05.000Z',
  last_reason: 'server_error',
  message: 'The receiver answered 500.',
  at: '2026-01-01T00:00:00.000Z',
  ...changes,
});

describe('the delivery attempts of a run', () => {
  it('are read in the order of rounds and numbers, with only the latest intermediate one', async () => {
    const key = aRun();
    await recordDeliveryAttempt(log, key, aTry({ round: 2 }));
    await recordDeliveryAttempt(log, key, aTry({ try: 11 }));
    await recordDeliveryAttempt(log, key, aTry({ try: 2 }));
    await recordDeliveryAttempt(log, key, aTry({ notification: 'intermediate', webhook_id: 'first' }));
    await recordDeliveryAttempt(log, key, aTry({ notification: 'intermediate', webhook_id: 'second' }));
    const read = await readDeliveries(log, key);
    expect(read.attempts.map(({ round, try: number }) => [round, number])).toEqual([
      [1, 2],
      [1, 11],
      [2, 1],
    ]);
    expect(read.intermediate).toMatchObject({ webhook_id: 'second' });
    expect(read.state).toBeUndefined();
  });

  it('are empty for a run without notifications', async () => {
    expect(await readDeliveries(log, aRun())).toEqual({
      attempts: [],
      intermediate: undefined,
      state: undefined,
    });
  });

  it('belong to that run only, and invalid records are left out', async () => {
    const key = aRun();
    const other = aRun(key.org_id);
    await recordDeliveryAttempt(log, other, aTry());
    await log.js.publish(`delivery_attempts.${key.org_id}.${key.run_id}.attempt.1.1`, 'no JSON');
    expect((await readDeliveries(log, key)).attempts).toEqual([]);
  });
});

describe('the states of deliveries', () => {
  it('are read for more runs than one request covers', async () => {
    const keys = Array.from({ length: 230 }, () => aRun());
    await Promise.all(keys.map((key) => recordDeliveryState(log, key, aState())));
    const last = keys.at(-1) ?? aRun();
    await recordDeliveryState(log, last, aState({ state: 'deferred', next_try_at: null }));
    const states = await readDeliveryStates(log, [...keys, aRun()]);
    expect(states.size).toBe(230);
    expect(states.get(last.run_id)).toMatchObject({ state: 'deferred' });
  });
});

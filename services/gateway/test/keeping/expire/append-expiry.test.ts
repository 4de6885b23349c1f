import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, expired } from '@runledger/testing/run-events';
import { expect, it } from 'vitest';
import { appendExpiry } from '../../../src/runs/facts/expire-run.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';

const store = (log: EventLog, key: RunKey, readingTakesS: number): Promise<boolean> => {
  let now = Date.parse('2026-11-28T12:00:00Z');
  const unused = (): never => {
    throw new Error('this test reads by itself');
  };
  return appendExpiry(aKit({ log, now: () => new Date(now), metrics: { conflict: unused } }), key, {
    read: async () => {
      now += readingTakesS * 1_000;
      return key;
    },
    decide: (known) => ({ event: expired(known), expected: 0 }),
    message: 'the run is ended',
  });
};

it('an expiry is not stored by a gateway that stood still since it began to read', async () => {
  await using test = await aLog();
  const { log } = test;
  const key = aRun();
  expect(await store(log, key, 31)).toBe(false);
  expect((await readRun(log, key)).kind).toBe('none');
  expect(await store(log, key, 1)).toBe(true);
  expect((await readRun(log, key)).kind).toBe('found');
});

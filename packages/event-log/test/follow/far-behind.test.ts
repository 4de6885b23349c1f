import { ALL_LIFECYCLES, ALL_WEBHOOKS, READ_MARKER } from '@runledger/contracts/events/subjects';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../../src/connect/event-log.ts';
import { follow } from '../../src/follow/follow.ts';
import { queueRuns, sequencesOf } from '../fixtures/queued-runs.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
  return () => test[Symbol.asyncDispose]();
});

/** Two filters. */
const runs = { stream: 'RUNS', subjects: [ALL_LIFECYCLES, ALL_WEBHOOKS] } as const;
const SOON = { timeout: 30_000 };

const endOf = async (log: EventLog): Promise<number> => (await log.jsm.streams.info('RUNS')).state.last_seq;

const storeMarkers = async (log: EventLog, count: number): Promise<void> => {
  const before = await endOf(log);
  for (let stored = 0; stored < count; stored += 1) log.nc.publish(READ_MARKER, '{}');
  await expect.poll(() => endOf(log), SOON).toBe(before + count);
};

/** The filters at the broker of each consumer. */
const filters = async (log: EventLog): Promise<(readonly string[] | undefined)[]> => {
  const found: (readonly string[] | undefined)[] = [];
  for await (const { config } of log.jsm.consumers.list('RUNS')) found.push(config.filter_subjects);
  return found;
};

describe('a follower that begins far behind the end', () => {
  it('gets what it asked for, from a consumer that delivers everything, also what is stored later', async () => {
    const { log } = test;
    await queueRuns(log, 3);
    await storeMarkers(log, 10_000);
    await queueRuns(log, 2);
    const seen: number[] = [];
    const caughtUp = Promise.withResolvers<void>();
    await using far = await follow(log, {
      ...runs,
      after: 0,
      onBatch: async (messages) => void seen.push(...sequencesOf(messages)),
      onCaughtUp: caughtUp.resolve,
    });
    expect(await filters(log)).toEqual([undefined]);
    await caughtUp.promise;
    expect(seen).toEqual([1, 2, 3, 10_004, 10_005]);
    await storeMarkers(log, 2);
    const last = await queueRuns(log, 1);
    await expect.poll(() => far.position(), SOON).toBe(last);
    expect(seen.at(-1)).toBe(last);
  });

  it('has the filters at the broker when it begins near the end', async () => {
    const { log } = test;
    const last = await queueRuns(log, 1);
    await using near = await follow(log, { ...runs, after: last - 1, onBatch: async () => undefined });
    expect(await filters(log)).toContainEqual([ALL_LIFECYCLES, ALL_WEBHOOKS]);
    await expect.poll(() => near.position(), SOON).toBe(last);
  });
});

import { ALL_LIFECYCLES } from '@runledger/contracts/events/subjects';
import { beforeAll, describe, expect, it } from 'vitest';
import { follow } from '../../src/follow/follow.ts';
import { numbers, queueRuns, sequencesOf } from '../fixtures/queued-runs.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
  return () => test[Symbol.asyncDispose]();
});

const runs = { stream: 'RUNS', subjects: [ALL_LIFECYCLES] } as const;
/** Longer than any of these tests. */
const LONG_MS = 600_000;
const SOON = { timeout: 10_000 };

describe('a follower that pauses behind each batch', () => {
  it('does not pause while there is more, nor when it is stopped', async () => {
    const { log } = test;
    const before = await queueRuns(log, 600);
    const batches: number[][] = [];
    await using following = await follow(log, {
      ...runs,
      after: before - 600,
      pauseMs: LONG_MS,
      onBatch: async (messages) => void batches.push(sequencesOf(messages)),
    });
    await expect.poll(() => following.position(), SOON).toBe(before);
    expect(batches.flat()).toEqual(numbers(before - 599, before));
    expect(batches.map(({ length }) => length)).toEqual([256, 256, 88]);
  });

  it('gets the first message after a silence at once', async () => {
    const { log } = test;
    const before = await queueRuns(log, 1);
    await using following = await follow(log, {
      ...runs,
      after: before,
      pauseMs: LONG_MS,
      onBatch: async () => undefined,
    });
    const first = await queueRuns(log, 1);
    await expect.poll(() => following.position(), SOON).toBe(first);
  });

  it('gets all that is stored meanwhile, in its order', async () => {
    const { log } = test;
    const before = await queueRuns(log, 1);
    const seen: number[] = [];
    await using following = await follow(log, {
      ...runs,
      after: before,
      pauseMs: 5,
      onBatch: async (messages) => void seen.push(...sequencesOf(messages)),
    });
    const last = await queueRuns(log, 300);
    await expect.poll(() => following.position(), SOON).toBe(last);
    expect(seen).toEqual(numbers(before + 1, last));
  });
});

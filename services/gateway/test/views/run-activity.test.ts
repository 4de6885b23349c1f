import { newUuid, orgId } from '@runledger/contracts/ids';
import { expect, it } from 'vitest';
import { MAX_ACTIVE, runActivity, type ActivityReader } from '../../src/views/counts.decide.ts';

const query = { org_id: orgId(newUuid()), from: new Date(0), to: new Date(2_000), stepMs: 1_000 };

/** So many runs ended, `each` of them in each millisecond. */
const endedRuns = (count: number, each: number): ActivityReader => ({
  sortKeyAt: async () => undefined,
  endedAfter: async (_, from, skipped) => {
    const place = from * each + skipped;
    return place < count ? Math.floor(place / each) : undefined;
  },
  groupEnded: async (_, { from, before }) => {
    const runs = Math.max(0, Math.min(count, (before ?? Infinity) * each) - from * each);
    return [{ created: 0, started: 2, ended: 0, status: 'cancelled', runs }];
  },
  groupOpen: async () => [],
});

it.each([1, 7, 50_000])('reads each run once, piece by piece, when %d end in a millisecond', async (each) => {
  const read = await runActivity(endedRuns(123_456, each), query);
  expect(read).toMatchObject({ queued: [123_456, 0], waiting: [0, 0], running: [0, 0] });
  expect(read?.ended.cancelled).toEqual([123_456, 0]);
});

it('gives up when more runs ended than it may read', async () => {
  expect(await runActivity(endedRuns(MAX_ACTIVE + 100_000, 5), query)).toBeUndefined();
});

import { setImmediate as endOfTurn } from 'node:timers/promises';
import { newUuid, orgId, type OrgId } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { aRun, cancelled, cancelRequested, queued } from '@runledger/testing/run-events';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openQuotaBound, type QuotaBoundOptions } from '../../../src/records/quotas/quota-bound.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { openRunProjection } from '../../../src/views/run-projection.ts';
import { ViewsUnavailable } from '../../../src/views/run-views.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';

const all = new AsyncDisposableStack();
let test: TestLog;
/** Kept up to date by one projection, and read by all gateways. */
const views = sqliteViews();
beforeAll(async () => {
  test = all.use(await aLog());
  all.use(openRunProjection({ log: test.log, views, logger: silentLogger, instance: 'test' }));
});
afterAll(() => all.disposeAsync());

const FOR_EVER = 600_000;
const clock = (): number => performance.now();

type Count = QuotaBoundOptions['count'];
type Within = <Result>(
  org_id: OrgId,
  use: () => Promise<Result>,
  amount?: number,
) => Promise<Result | 'over_quota'>;

const aBound = (options: Omit<QuotaBoundOptions, 'onRefused'>): Within => {
  const { within } = all.use(openQuotaBound({ ...options, onRefused: () => undefined }));
  return (org_id, use, amount = 1) => within(org_id, amount, use);
};

const countQueued: Count = (org_id, limit) => views.countQueued(org_id, limit);

const boundOf = (limit: number, count = countQueued): Within =>
  aBound({
    count,
    becomeFresh: freshViews({ log: test.log, views, timeoutMs: FOR_EVER, clock }).becomeFresh,
    limit,
    clock,
  });

afterEach(() => vi.useRealTimers());

const accepting = (org_id: OrgId) => async () => {
  const run = aRun(org_id);
  await appendAll(test.log, queued(run));
  return run;
};

describe("an organisation's queue", () => {
  it('has at most the configured number of runs, at two gateways together', async () => {
    const org_id = orgId(newUuid());
    const bounds = [boundOf(10), boundOf(10)];
    for (let run = 0; run < 10; run += 1) {
      expect(await bounds[run % 2]?.(org_id, accepting(org_id))).toMatchObject({ org_id });
    }
    for (const bound of bounds) expect(await bound(org_id, accepting(org_id))).toBe('over_quota');
    expect(await bounds[0]?.(orgId(newUuid()), async () => 'of another')).toBe('of another');
  });

  it('is known without fresh views far from its limit, and not near it', async () => {
    const becomeFresh = async (): Promise<boolean> => {
      throw new Error('the broker refuses it');
    };
    const bound = (limit: number): Within => aBound({ count: countQueued, becomeFresh, limit, clock });
    const org_id = orgId(newUuid());
    expect(await bound(10_000)(org_id, async () => 'used')).toBe('used');
    await expect(bound(1)(org_id, async () => 'used')).rejects.toThrow('the broker refuses it');
  });

  it('never exceeds its limit under concurrent requests', async () => {
    const org_id = orgId(newUuid());
    const bound = boundOf(10);
    const results = await Promise.all(Array.from({ length: 40 }, () => bound(org_id, accepting(org_id))));
    expect(results.filter((result) => result !== 'over_quota')).toHaveLength(10);
  });

  it.each<[string, (acknowledge: () => void) => void]>([
    ['during the count', (acknowledge) => acknowledge()],
    ['after the count', (acknowledge) => setImmediate(acknowledge)],
  ])('accepts a run beside one that is counted already, and acknowledged %s', async (_when, onCount) => {
    const org_id = orgId(newUuid());
    const [stored, acknowledged] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let runs = 0;
    const count = async (): Promise<number> => {
      if (runs > 0) onCount(acknowledged.resolve);
      return runs;
    };
    const bound = aBound({ count, becomeFresh: async () => true, limit: 2, clock });
    const first = bound(org_id, async () => {
      runs += 1;
      stored.resolve();
      await acknowledged.promise;
      return 'accepted';
    });
    await stored.promise;
    expect(await bound(org_id, async () => 'accepted')).toBe('accepted');
    expect(await first).toBe('accepted');
  });

  it('accepts a run as soon as another one has left', async () => {
    const org_id = orgId(newUuid());
    const bound = boundOf(1);
    const run = await bound(org_id, accepting(org_id));
    if (run === 'over_quota') throw new Error('an empty queue is full');
    expect(await bound(org_id, accepting(org_id))).toBe('over_quota');
    await appendAll(test.log, cancelRequested(run), cancelled(run));
    expect(await bound(org_id, accepting(org_id))).toMatchObject({ org_id });
  });

  it('does not count a run that was not accepted', async () => {
    const org_id = orgId(newUuid());
    const bound = boundOf(1);
    const failing = bound(org_id, () => Promise.reject(new Error('the log is full')));
    await expect(failing).rejects.toThrow('the log is full');
    expect(await bound(org_id, accepting(org_id))).toMatchObject({ org_id });
  });

  it('is counted rarely while it is far from its limit', async () => {
    const org_id = orgId(newUuid());
    let counts = 0;
    const count: Count = (org, limit) => {
      counts += 1;
      return views.countQueued(org, limit);
    };
    let now = 0;
    // Nobody waits for fresh views far from the bound.
    const becomeFresh = () => new Promise<boolean>(() => undefined);
    const bound = aBound({ count, becomeFresh, limit: 100_000, clock: () => now });
    for (let run = 0; run < 100; run += 1) await bound(org_id, async () => 'accepted');
    expect(counts).toBe(1);
    now += 1_000;
    await bound(org_id, async () => 'accepted');
    expect(counts).toBe(2);
  });

  it('is limited by the runs that this gateway accepted when the views stay behind', async () => {
    const org_id = orgId(newUuid());
    const behind = aBound({
      count: async () => 0,
      becomeFresh: async () => false,
      limit: 5,
      clock,
    });
    const results = [];
    for (let run = 0; run < 7; run += 1) results.push(await behind(org_id, async () => 'accepted'));
    expect(results.filter((result) => result === 'accepted')).toHaveLength(5);
  });

  it('is not limited by runs that had left before the views fell behind', async () => {
    const org_id = orgId(newUuid());
    let [now, isFresh] = [0, true];
    const bound = aBound({
      count: async () => 0,
      becomeFresh: async () => isFresh,
      limit: 250,
      clock: () => now,
    });
    const accepted = async (runs: number): Promise<number> => {
      let count = 0;
      for (let run = 0; run < runs; run += 1) {
        now += 1_000;
        if ((await bound(org_id, async () => 'accepted')) === 'accepted') count += 1;
      }
      return count;
    };
    expect(await accepted(140)).toBe(140);
    isFresh = false;
    expect(await accepted(140)).toBe(140);
    expect(await accepted(140)).toBeLessThan(140);
  });

  it('refuses nothing while the views are unavailable', async () => {
    const org_id = orgId(newUuid());
    const bound = boundOf(1, () => Promise.reject(new ViewsUnavailable('the views are unavailable')));
    for (let run = 0; run < 3; run += 1) expect(await bound(org_id, async () => 'accepted')).toBe('accepted');
  });

  it('probes unavailable views with one request, and delays no other', async () => {
    const org_id = orgId(newUuid());
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const silent = Promise.withResolvers<number>();
    let counts = 0;
    const count = (): Promise<number> => {
      counts += 1;
      return counts === 1
        ? Promise.reject(new ViewsUnavailable('the views are unavailable'))
        : silent.promise;
    };
    const bound = aBound({ count, becomeFresh: async () => true, limit: 1, clock });
    const ask = () => bound(org_id, async () => 'accepted');
    await ask();
    vi.advanceTimersByTime(1_000);
    const trying = ask();
    for (let run = 0; run < 3; run += 1) expect(await ask()).toBe('accepted');
    await endOfTurn();
    expect(counts).toBe(2);
    silent.resolve(1);
    expect(await trying).toBe('over_quota');
    expect(await ask()).toBe('over_quota');
  });
});

describe('a quota of large amounts', () => {
  const GiB = 1024 ** 3;

  it('is counted with fresh views before it refuses one amount that is larger than what is free', async () => {
    const org_id = orgId(newUuid());
    let used = 0;
    let fresh = 0;
    const bound = aBound({
      count: async () => used,
      becomeFresh: async () => {
        fresh += 1;
        return true;
      },
      limit: 4 * GiB,
      clock,
    });
    const use = async () => void (used += GiB);
    for (let times = 0; times < 4; times += 1) expect(await bound(org_id, use, GiB)).toBeUndefined();
    expect(await bound(org_id, use, 1)).toBe('over_quota');
    used = 0;
    expect(await bound(org_id, use, 4 * GiB)).toBeUndefined();
    expect(await bound(orgId(newUuid()), use, 5 * GiB)).toBe('over_quota');
    expect(fresh).toBeGreaterThan(0);
  });

  it('has room while the counted amount is not above it', async () => {
    const org_id = orgId(newUuid());
    let used = 0;
    const { hasCapacity } = all.use(
      openQuotaBound({
        count: async () => used,
        becomeFresh: async () => true,
        limit: 4 * GiB,
        onRefused: () => undefined,
        clock: () => 0,
      }),
    );
    const announce = (bytes: number): Promise<boolean> => {
      used += bytes;
      return hasCapacity(org_id, bytes);
    };
    expect([await announce(GiB), await announce(3 * GiB), await announce(1)]).toEqual([true, true, false]);
    used -= 1;
    expect(await hasCapacity(org_id, 3 * GiB)).toBe(true);
  });
});

import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { OrgId } from '@runledger/contracts/ids';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import { openBreaker, type Breaker } from '../../breaker.ts';
import type { BecomeFresh } from '../../views/fresh-views.ts';
import { ViewsUnavailable } from '../../views/run-views.ts';

export interface QuotaBoundOptions {
  /** What an organisation uses. It may stop at the limit. @throws {ViewsUnavailable} */
  readonly count: (org_id: OrgId, limit: number) => Promise<number>;
  /** Waits until a count has everything that was used before. */
  readonly becomeFresh: BecomeFresh;
  /** What an organisation may use. */
  readonly limit: number;
  readonly onRefused: (org_id: OrgId) => void;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Limits what each organisation uses of one resource. */
export interface QuotaBound extends Disposable {
  readonly limit: number;
  /**
   * Calls `use`, which uses this amount at most, unless the organisation would then exceed its quota.
   * @throws what `use` throws
   */
  readonly within: <Result>(
    org_id: OrgId,
    amount: number,
    use: () => Promise<Result>,
  ) => Promise<Result | 'over_quota'>;
  /**
   * For an amount that the log has already, so that a count of fresh views has it too: whether the organisation is within
   * its quota with it.
   */
  readonly hasCapacity: (org_id: OrgId, amount: number) => Promise<boolean>;
  /** What the organisation uses now; undefined while the views are unavailable. */
  readonly used: (org_id: OrgId) => Promise<number | undefined>;
}

type Account = ReturnType<typeof newAccount>;

/** An organisation is near its limit when less than this is free, or less than a tenth. */
const NEAR_AMOUNT = 100;
const NEAR_PART = 0.1;
const COUNTED_FOR_MS = 1_000;
/** A count is valid until this part of what is near was admitted: ten equally busy gateways stay within the limit. */
const COUNTED_FOR_PART = 0.1;
const MAX_ACCOUNTS = 10_000;
/** A count reads twice, and waits for fresh views in between. */
const COUNT_TIMEOUT_MS = 10_000;

const nearOf = (limit: number): number => Math.max(NEAR_AMOUNT, limit * NEAR_PART);

/**
 * Far from the limit, use is counted once a second or once for much of it, and what this gateway admitted meanwhile is
 * added. Near the limit it is counted for each request, once the views have everything of the log; concurrent requests
 * share the next count. So one gateway never exceeds the limit, and uses it up. Several gateways may exceed it by what they
 * admit at the same moment. While the views are unavailable, nothing is refused.
 */
export const openQuotaBound = (options: QuotaBoundOptions): QuotaBound => {
  const { count, becomeFresh, limit, onRefused, clock } = options;
  const accounts = new LRUCache<OrgId, Account>({
    ...atMost(MAX_ACCOUNTS),
    memoMethod: (org_id) => newAccount(options, org_id),
  });
  const counting = openCounting();
  /** False while the views are unavailable. */
  const isCounted = async (account: Account, amount: number): Promise<boolean> => {
    const isRecent =
      clock() - account.countedAt < COUNTED_FOR_MS && account.admitted < nearOf(limit) * COUNTED_FOR_PART;
    if (isRecent && !isNear(account, amount, limit)) return true;
    account.wanted = Math.max(account.wanted, amount);
    return counting.call(account);
  };
  const hasCapacity: QuotaBound['hasCapacity'] = async (org_id, amount) => {
    const account = accounts.memo(org_id);
    if ((await isCounted(account, amount)) && usedBy(account) > limit) {
      onRefused(org_id);
      return false;
    }
    account.admitted += amount;
    return true;
  };
  const within: QuotaBound['within'] = async (org_id, amount, use) => {
    const account = accounts.memo(org_id);
    const exceeds = (): boolean => usedBy(account) + amount > limit;
    let isKnown = await isCounted(account, amount);
    // What was in flight during the count may be counted twice. It is counted again when that is over.
    if (isKnown && exceeds() && account.inDoubt > 0) {
      await Promise.allSettled(account.inFlight);
      isKnown = await isCounted(account, amount);
    }
    // No await between check and increment: many requests may have waited for the same count.
    if (isKnown && exceeds()) {
      onRefused(org_id);
      return 'over_quota';
    }
    const using = useCounted(account, amount, use);
    account.inFlight.add(using);
    try {
      return await using;
    } finally {
      account.inFlight.delete(using);
    }
  };
  const used: QuotaBound['used'] = async (org_id) => {
    await becomeFresh(org_id);
    try {
      return await count(org_id, limit);
    } catch (error) {
      if (error instanceof ViewsUnavailable) return undefined;
      throw error;
    }
  };
  return { limit, within, hasCapacity, used, [Symbol.dispose]: () => counting[Symbol.dispose]() };
};

const useCounted = async <Result>(
  account: Account,
  amount: number,
  use: () => Promise<Result>,
): Promise<Result> => {
  account.pending += amount;
  account.admitted += amount;
  try {
    return await use();
  } finally {
    account.pending -= amount;
    account.total += amount;
  }
};

/** False while the views are unavailable. */
const openCounting = (): Breaker<[Account], boolean> =>
  openBreaker({
    action: async (_signal, account) => {
      await account.count();
      return true;
    },
    timeoutMs: COUNT_TIMEOUT_MS,
    opensOn: 'first_failure',
    fallback: (why) => {
      if (why.kind === 'failed' && !(why.error instanceof ViewsUnavailable)) throw why.error;
      return false;
    },
  });

interface Used {
  readonly counted: number;
  readonly total: number;
  readonly inCount: number;
  readonly pending: number;
}

const usedBy = ({ counted, total, inCount, pending }: Used): number => counted + total - inCount + pending;

const isNear = (account: Used, amount: number, limit: number): boolean =>
  limit - usedBy(account) - amount < nearOf(limit);

/** What one organisation uses, as this gateway knows it. */
const newAccount = ({ count, becomeFresh, limit, clock }: QuotaBoundOptions, org_id: OrgId) => {
  const countViews = async (): Promise<void> => {
    const { inViews } = account;
    account.counted = await count(org_id, limit);
    account.inCount = inViews;
  };
  const awaitViews = async (): Promise<void> => {
    const { total } = account;
    if (await becomeFresh(org_id)) account.inViews = Math.max(account.inViews, total);
  };
  const recount = async (): Promise<void> => {
    const { wanted, total } = account;
    account.wanted = 0;
    if (!isNear(account, wanted, limit)) await countViews();
    // What has left must not count when the views fall behind later. Nobody waits for it, or learns of a failure.
    if (!isNear(account, wanted, limit)) void awaitViews().catch(() => undefined);
    else {
      await awaitViews();
      await countViews();
    }
    account.countedAt = clock();
    account.admitted = 0;
    account.inDoubt = account.total - total + account.pending;
  };
  const account = {
    counted: 0,
    countedAt: Number.NEGATIVE_INFINITY,
    /** What was admitted since the last count. */
    admitted: 0,
    /** What this gateway has used at all. */
    total: 0,
    /** So much of it a count has. */
    inCount: 0,
    /** So much of it the views have, so that the next count has it. */
    inViews: 0,
    /** What is being used. */
    pending: 0,
    /** The uses of it. */
    inFlight: new Set<Promise<unknown>>(),
    /** So much was in flight during the last count, which may have it too. */
    inDoubt: 0,
    /** The largest amount that waits for the next count. */
    wanted: 0,
    count: oneAtATime(recount),
  };
  return account;
};

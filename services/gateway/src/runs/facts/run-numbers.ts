import type { OrgId } from '@runledger/contracts/ids';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { runCounts, type RunCounts } from '../../records/catalogue/catalogue.ts';
import type { Kit } from '../../kit.ts';

/**
 * The numbers of new runs, counted in each organisation by all gateways together. No two runs of an organisation have the same. A number
 * whose run is not stored is left out, and so are those that a killed gateway held.
 */
export interface RunNumbers extends AsyncDisposable {
  /** @throws {LogUnavailable} */
  next(org: OrgId): Promise<number>;
}

const MAX_LEASES = 10_000;

/** Takes a few numbers at once while runs come quickly, so that not every run costs a write more. Dispose gives back what is left. */
export const openRunNumbers = (kit: Kit): RunNumbers => {
  const counts = runCounts(kit.log);
  const leases = new LRUCache<OrgId, OrgNumbers>({
    ...atMost(MAX_LEASES),
    memoMethod: (org) => numbersOf(kit, counts, org),
    dispose: (numbers) => void numbers.giveBack(),
  });
  return {
    next: (org) => leases.memo(org).next(),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...leases.values()].map((numbers) => numbers.giveBack()));
    },
  };
};

interface OrgNumbers {
  next(): Promise<number>;
  /** Never rejects: what cannot be given back is left out. */
  giveBack(): Promise<void>;
}

const numbersOf = ({ log, clock }: Kit, counts: RunCounts, org: OrgId): OrgNumbers => {
  let lease = NO_NUMBERS;
  let revision = 0;
  /** Runs that wait for a number. */
  let waiting = 0;
  let taking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const giveBack = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const { next, end } = lease;
    // They must not be used here after others may have them.
    lease = returned(lease);
    if (next === end || !log.connected()) return;
    try {
      await counts.giveBack(org, next, revision);
    } catch (error) {
      const level = error instanceof LogUnavailable ? 'debug' : 'error';
      log.logger[level]({ err: error, org_id: org }, 'unused numbers of runs are left out');
    }
  };
  const giveBackWhenOld = (): void => {
    timer ??= setTimeout(
      () => {
        timer = undefined;
        if (clock() - lease.takenAt < LEASE_MS) giveBackWhenOld();
        else void giveBack();
      },
      Math.max(0, lease.takenAt + LEASE_MS - clock()),
    ).unref();
  };
  const takeMore = async (): Promise<void> => {
    lease = grown(lease, clock());
    const numbers = await counts
      .take(org, () => Math.max(lease.size, waiting))
      .finally(() => {
        waiting = 0;
      });
    ({ revision } = numbers);
    lease = taken(lease, numbers, clock());
    giveBackWhenOld();
  };
  const next = async (): Promise<number> => {
    for (;;) {
      const spent = spend(lease);
      if (spent) {
        ({ lease } = spent);
        return spent.number;
      }
      waiting += 1;
      taking ??= takeMore().finally(() => {
        taking = undefined;
      });
      await taking;
    }
  };
  return { next, giveBack };
};

/** The numbers that one gateway holds for the next runs of an organisation. Times are monotonic, in milliseconds. */
export interface NumberLease {
  /** How many to take the next time. */
  readonly size: number;
  readonly first: number;
  /** The next one to use. */
  readonly next: number;
  /** The first one that it does not hold. */
  readonly end: number;
  readonly takenAt: number;
}

/** What is left of a lease after this time is given back. */
const LEASE_MS = 1_000;
const QUICKLY_MS = 500;
/** A thousand runs a second take eight leases then. A gateway that is killed leaves out no more numbers than this. */
const MAX_SIZE = 128;

export const NO_NUMBERS: NumberLease = { size: 1, first: 1, next: 1, end: 1, takenAt: -Infinity };

/** The next number; undefined when more have to be taken first. */
export const spend = (
  lease: NumberLease,
): { readonly number: number; readonly lease: NumberLease } | undefined =>
  lease.next < lease.end ? { number: lease.next, lease: { ...lease, next: lease.next + 1 } } : undefined;

/** Before more are taken: a lease that was used up quickly is followed by a larger one. */
export const grown = (lease: NumberLease, now: number): NumberLease =>
  now - lease.takenAt < QUICKLY_MS ? { ...lease, size: Math.min(MAX_SIZE, lease.size * 2) } : lease;

/** With the numbers that were taken. */
export const taken = (
  { size }: NumberLease,
  { first, end }: { readonly first: number; readonly end: number },
  now: number,
): NumberLease => ({ size, first, next: first, end, takenAt: now });

/** Without the numbers that were not used. The next lease is no larger than what was used of this one. */
export const returned = (lease: NumberLease): NumberLease => ({
  ...lease,
  size: Math.min(lease.size, Math.max(1, lease.next - lease.first)),
  end: lease.next,
});

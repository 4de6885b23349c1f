import { newUuid, type OrgId } from '@runledger/contracts/ids';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { streamState } from '@runledger/event-log/read/leader-read';
import { changeEntry, openBucket } from '@runledger/event-log/streams/bucket';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { Type } from 'typebox';
import type { Kit } from '../kit.ts';
import { openTokenLease } from '../token-lease.ts';

/**
 * The numbers of new runs, counted in each organisation by all gateways together. No two runs of an organisation have the same. A number
 * whose run is not stored is left out, and so are those that a killed gateway held.
 */
export interface RunNumbers extends AsyncDisposable {
  /** @throws {LogUnavailable} */
  next(org: OrgId): Promise<number>;
}

/** How far the runs of an organisation are counted. `taken_by` differs for each write, so that no process takes the write of another one for its own. */
const RunCount = Type.Object({
  next: Type.Integer({ minimum: 1 }),
  taken_by: Type.String({ format: 'uuid' }),
});

const runCounts = (log: EventLog) => openBucket(log, 'CATALOGUE', RunCount);
const countedTo = (next: number) => ({ next, taken_by: newUuid() });
/** Erased with the organisation, as all keys of this form. */
const keyOf = (org: string): string => `counts.${org}.runs`;

/** The runs of a new organisation are counted from 1. @throws {LogUnavailable} */
export const beginRunNumbers = async (log: EventLog, org: string): Promise<void> => {
  await runCounts(log).create(keyOf(org), countedTo(1));
};

/** A thousand runs a second take eight leases then. A gateway that is killed leaves out no more numbers than this. */
const MAX_SIZE = 128;
const MAX_LEASES = 10_000;

/** Takes a few numbers at once while runs come quickly, so that not every run costs a write more. Dispose gives back what is left. */
export const openRunNumbers = (kit: Kit): RunNumbers => {
  const leases = new LRUCache<OrgId, OrgNumbers>({
    ...atMost(MAX_LEASES),
    memoMethod: (org) => numbersOf(kit, org),
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
  giveBack(): Promise<void>;
}

const numbersOf = ({ log, clock }: Kit, org: OrgId): OrgNumbers => {
  const counts = runCounts(log);
  const key = keyOf(org);
  /** Behind the last number that was taken, and the revision of the count then. */
  let end = 1;
  let revision = 0;
  const lease = openTokenLease({
    maxSize: MAX_SIZE,
    clock,
    take: async (wanted) => {
      const decide = async (present: { readonly next: number } | undefined) => {
        const first = present?.next ?? (await firstWithoutCount(log));
        return { first, value: countedTo(first + wanted()) };
      };
      const busy = `The runs of ${org} are counted by too many gateways at once. Try again.`;
      const taken = await changeEntry(counts, key, decide, busy);
      end = taken.value.next;
      revision = taken.revision ?? revision;
      return end - taken.first;
    },
    // They are left out if others were taken since, or if the write is lost.
    giveBack: async (numbers) => {
      if (!log.connected()) return;
      try {
        await counts.updateOnce(key, countedTo(end - numbers), revision);
      } catch (error) {
        const level = error instanceof LogUnavailable ? 'debug' : 'error';
        log.logger[level]({ err: error, org_id: org }, 'unused numbers of runs are left out');
      }
    },
  });
  return {
    giveBack: lease.giveBack,
    next: async () => {
      while (!lease.spend()) await lease.refill();
      return end - lease.left() - 1;
    },
  };
};

/** A count that was lost begins behind the last position of the log: each of its runs has taken one there, so none of their numbers comes twice. */
const firstWithoutCount = async (log: EventLog): Promise<number> =>
  (await streamState(log, 'RUNS')).state.last_seq + 1;

import { newUuid } from '@runledger/contracts/ids';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { streamState } from '@runledger/event-log/messages/leader-state';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { Type } from 'typebox';

/** How far the runs of an organisation are counted. `taken_by` differs for each write, so that no process takes the write of another one for its own. */
const RunCount = Type.Object({
  next: Type.Integer({ minimum: 1 }),
  taken_by: Type.String({ format: 'uuid' }),
});

/** Numbers that nobody else gets: from `first` on, before `end`. */
interface TakenNumbers {
  readonly first: number;
  readonly end: number;
  /** Of the count, for giving back what is left. */
  readonly revision: number;
}

/** The counts of the runs of all organisations, which all gateways share. Every method may throw LogUnavailable. */
export interface RunCounts {
  /** The runs of a new organisation are counted from 1. */
  begin(org: string): Promise<void>;
  /** Takes the next numbers, as many as `wanted` returns, which is called late. After LogUnavailable some may be left out. */
  take(org: string, wanted: () => number): Promise<TakenNumbers>;
  /** Those from `next` on were not used. They are left out if others were taken since, or if the write is lost. */
  giveBack(org: string, next: number, revision: number): Promise<void>;
}

/** Erased with the organisation, as all keys of this form. */
const keyOf = (org: string): string => `counts.${org}.runs`;
/** Enough for twenty gateways that write the same key at once. */
const MAX_TRIES = 50;

export const runCounts = (log: EventLog): RunCounts => {
  const bucket = openBucket(log, 'CATALOGUE', RunCount);
  const countOf = (next: number) => ({ next, taken_by: newUuid() });
  return {
    begin: async (org) => void (await bucket.create(keyOf(org), countOf(1))),
    take: async (org, wanted) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const entry = await bucket.get(keyOf(org));
        const first = entry?.value.next ?? (await firstWithoutCount(log));
        const end = first + wanted();
        const revision = entry
          ? await bucket.update(keyOf(org), countOf(end), entry.revision)
          : await bucket.create(keyOf(org), countOf(end));
        if (revision !== false) return { first, end, revision };
      }
      throw new LogUnavailable(`The runs of ${org} are counted by too many gateways at once. Try again.`);
    },
    giveBack: async (org, next, revision) =>
      void (await bucket.updateOnce(keyOf(org), countOf(next), revision)),
  };
};

/** Runs of earlier releases show their position in the log instead, so the count begins behind all of these. */
const firstWithoutCount = async (log: EventLog): Promise<number> =>
  (await streamState(log, 'RUNS')).state.last_seq + 1;

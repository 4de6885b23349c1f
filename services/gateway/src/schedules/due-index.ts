import type { Schedule } from '@runledger/contracts/catalogue/schedules';
import type { Bucket } from '@runledger/event-log/streams/bucket';

/** When each schedule of all organisations is to be handled next, in milliseconds since 1970. */
export interface DueIndex {
  /** Reads what was written since the last call; at first everything. @throws {LogUnavailable} */
  refresh(): Promise<void>;
  /** The keys of those that are to be handled by then. */
  dueBy(now: number): string[];
  /** When the next one after that is to be handled; undefined when none is. */
  firstAfter(now: number): number | undefined;
  /** Undefined for a schedule that was deleted. */
  set(key: string, schedule: Schedule | undefined): void;
  /** To be handled at this time, whatever the schedule says. */
  postpone(key: string, until: number): void;
  size(): number;
}

export const dueIndex = (bucket: Pick<Bucket<Schedule>, 'list' | 'next'>): DueIndex => {
  const dueAt = new Map<string, number>();
  let upTo: number | undefined;
  const set = (key: string, schedule: Schedule | undefined): void => {
    if (schedule) dueAt.set(key, whenDue(schedule));
    else dueAt.delete(key);
  };
  const add = ({ key, value, revision }: { key: string; value: Schedule; revision: number }): void => {
    set(key, value);
    upTo = Math.max(upTo ?? 0, revision);
  };
  return {
    refresh: async () => {
      // A list ends after some thousands. The others follow one by one.
      if (upTo === undefined) {
        (await bucket.list()).forEach(add);
        upTo ??= 0;
      }
      for (;;) {
        const entry = await bucket.next('', upTo);
        if (!entry) return;
        add(entry);
      }
    },
    dueBy: (now) => [...dueAt].filter(([, at]) => at <= now).map(([key]) => key),
    firstAfter: (now) => {
      let first = Number.POSITIVE_INFINITY;
      for (const at of dueAt.values()) if (at > now) first = Math.min(first, at);
      return Number.isFinite(first) ? first : undefined;
    },
    set,
    postpone: (key, until) => {
      if (dueAt.has(key)) dueAt.set(key, until);
    },
    size: () => dueAt.size,
  };
};

/** Due times are handled at once; a paused schedule never is. */
const whenDue = ({ due, next_at }: Schedule): number => {
  if (due.length > 0) return Number.NEGATIVE_INFINITY;
  return next_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_at);
};

import type { EventLog } from '@runledger/event-log/connect/event-log';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { countTimersOf, readFill } from './timers.ts';

/** Whether TIMERS has room for more: the broker would drop the oldest message of anybody. */
export interface TimersCapacity {
  /** For one more delivery of the organisation. Counts it when there is. @throws {LogUnavailable} */
  reserveFor(org_id: string): Promise<boolean>;
  /** For what belongs to no single organisation. @throws {LogUnavailable} */
  hasSpace(): Promise<boolean>;
}

/** The rest is for positions of partitions, and for what several notifiers write between two measurements. */
const USED_PART = 0.9;
/** Nobody can have more than there is: below this nothing is counted by organisation. */
const UNCOUNTED_PART = 0.5;
const MEASURE_EVERY_MS = 1_000;
const COUNT_EVERY_MS = 10_000;
const MAX_COUNTED = 10_000;
/** With the subject, the headers and the schedule; until there is a mean. */
const USUAL_BYTES = 600;

interface Fill {
  /** With what this process has written since the measurement. */
  bytes: number;
  readonly limit: number;
  /** Of one message, on average. */
  readonly each: number;
}

interface Count {
  readonly at: number;
  readonly count: Promise<{ messages: number }>;
}

/**
 * An organisation may use as many bytes of TIMERS as are free. So one alone gets half, two get a third each, and there is always
 * room for one that has nothing there yet. `clock`: monotonic, in milliseconds.
 */
export const openTimersCapacity = (log: EventLog, clock: () => number): TimersCapacity => {
  let measured: { readonly at: number; readonly fill: Promise<Fill> } | undefined;
  const counted = new LRUCache<string, Count>(atMost(MAX_COUNTED));

  const fillNow = (): Promise<Fill> => {
    if (measured && clock() - measured.at <= MEASURE_EVERY_MS) return measured.fill;
    const fill = measure(log);
    measured = { at: clock(), fill };
    // A failure is not kept.
    fill.catch(() => (measured = undefined));
    return fill;
  };
  const countNow = (org_id: string): Promise<{ messages: number }> => {
    const present = counted.get(org_id);
    if (present && clock() - present.at <= COUNT_EVERY_MS) return present.count;
    const count = countTimersOf(log, org_id).then((messages) => ({ messages }));
    counted.set(org_id, { at: clock(), count });
    count.catch(() => counted.delete(org_id));
    return count;
  };
  return {
    reserveFor: async (org_id) => {
      const fill = await fillNow();
      const free = (): number => fill.limit - fill.bytes;
      const own = fill.bytes > fill.limit * UNCOUNTED_PART ? await countNow(org_id) : undefined;
      if (free() < Math.max(fill.each, (own?.messages ?? 0) * fill.each)) return false;
      fill.bytes += fill.each;
      if (own) own.messages += 1;
      return true;
    },
    hasSpace: async () => {
      const fill = await fillNow();
      return fill.bytes + fill.each <= fill.limit;
    },
  };
};

const measure = async (log: EventLog): Promise<Fill> => {
  const { bytes, messages, maxBytes } = await readFill(log);
  const each = messages === 0 ? USUAL_BYTES : Math.max(bytes / messages, USUAL_BYTES);
  return { bytes, limit: maxBytes * USED_PART, each };
};

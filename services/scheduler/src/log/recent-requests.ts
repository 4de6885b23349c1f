import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';

/** What an assignment repeats of the request. */
export type RequestedInputs = Pick<RunEventOf<'RunQueued'>['data'], 'inputs' | 'inputs_blob'>;

/** The inputs of runs that wait, by the sequence of their RunQueued, so that as a rule an assignment reads nothing. */
export interface RecentRequests {
  /**
   * When more runs wait than there is room for, the first ones are kept, and beside them the last ones: those before these may wait
   * for other slots.
   */
  take(event: RunEvent, number: number): void;
  inputsOf(number: number): RequestedInputs | undefined;
}

/** Each has at most 4 KiB of inputs. */
const ROOM = { first: 4_096, last: 4_096 };

export const recentRequests = (room = ROOM): RecentRequests => {
  const first = new Map<number, RequestedInputs>();
  const last = new LRUCache<number, RequestedInputs>(atMost(room.last));
  return {
    take: (event, number) => {
      // Whatever follows it, a run that waits again is rare, and is read.
      if (event.type !== 'RunQueued') {
        if (!first.delete(number)) last.delete(number);
      } else if (first.size < room.first) first.set(number, event.data);
      else last.set(number, event.data);
    },
    inputsOf: (number) => first.get(number) ?? last.peek(number),
  };
};

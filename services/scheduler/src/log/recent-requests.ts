import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';

/** What an assignment repeats of the request. */
export type RequestedInputs = Pick<RunEventOf<'RunQueued'>['data'], 'inputs' | 'inputs_blob'>;

/** The inputs of runs that wait, by the sequence of their RunQueued, so that as a rule an assignment reads nothing. */
export interface RecentRequests {
  /** A request that comes when it is full is not kept: those before it are assigned first. */
  take(event: RunEvent, number: number): void;
  inputsOf(number: number): RequestedInputs | undefined;
}

/** Each has at most 4 KiB of inputs. */
const MAX_REQUESTS = 4_096;

export const recentRequests = (max = MAX_REQUESTS): RecentRequests => {
  const kept = new Map<number, RequestedInputs>();
  return {
    take: (event, number) => {
      // Whatever follows it, a run that waits again is rare, and is read.
      if (event.type !== 'RunQueued') kept.delete(number);
      else if (kept.size < max) kept.set(number, event.data);
    },
    inputsOf: (number) => kept.get(number),
  };
};

import type { RunFact } from '@runledger/contracts/fold/run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { ReadRun } from '@runledger/event-log/read/read-run';

const HOUR_MS = 3_600_000;
/** Enough to write down that a notification is given up, also when the notifier was away for a moment. */
const LONGEST_BEFORE_MS = HOUR_MS;
const BEFORE_PART = 0.1;

/** When a run is about to leave the log. All in milliseconds; Infinity when the log keeps everything. */
export const logEndOf = (oldestFactAt: number, logAgeMs: number): number =>
  oldestFactAt + logAgeMs - Math.min(LONGEST_BEFORE_MS, logAgeMs * BEFORE_PART);

/** The time of the oldest fact that a run is read from: the first one, unless a later one has the whole history. */
export const oldestFactOf = (facts: readonly RunFact[], instantOf: (time: string) => number): number => {
  const whole = facts.findLast(({ event }) => RUN_CHAIN.needs(event) === 'nothing') ?? facts[0];
  return instantOf(whole?.time ?? '');
};

/** Whether the beginning of a run has left the log. `fact`: the sequence of a fact of the run; `firstSequence`: the first that the log holds. */
export const hasExpired = (read: ReadRun, fact: number, firstSequence: number): boolean => {
  if (read.kind === 'none') return fact < firstSequence;
  return read.kind === 'damaged' && read.after === 0 && read.expected < firstSequence;
};

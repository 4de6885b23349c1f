import type { SliceFact } from '@runledger/contracts/slices/slice';
import type { Verdict } from './verdict.ts';

/** The code of a service, played in the time of a slice. It does no I/O: what it decides is compared, and executed nowhere. */
export interface ReplayedService {
  readonly name: string;
  /** A fact that comes a little further on: it may show what the service knew before. Each is foreseen before it is taken. */
  readonly foresee: (fact: SliceFact) => void;
  /** Takes the next fact of the slice at its time, and returns what is known of decisions since the one before. */
  readonly take: (fact: SliceFact) => readonly Verdict[];
  /** The slice is over. */
  readonly end: () => readonly Verdict[];
  /** What the slice does not say, and what is assumed instead. For people, one sentence each. */
  readonly assumptions: () => readonly string[];
  /** What the service knows of a run, for people; undefined when it knows nothing of it. */
  readonly viewOf: (run_id: string) => object | undefined;
}

import { firstNotBefore, laterBy } from '@runledger/contracts/fold/run';
import { parseRunEvent, type RunEvent } from '@runledger/contracts/events/run-event';
import type { RunnerChoice } from '@runledger/contracts/catalogue/runners';
import type { SliceFact } from '@runledger/contracts/slices/slice';

/** What a recorded assignment shows of the moment in which it was decided. Times are in milliseconds since 1970. */
export interface ForeseenAssignment {
  readonly executor_id: string;
  readonly slot: number;
  readonly version: string;
  readonly runner: RunnerChoice;
  /** An executor had said that the slot has the version loaded. */
  readonly isWarm: boolean;
  /** When it was stored. */
  readonly atMs: number;
  /** The clock at the last tick before: for how long the run had waited says it. Undefined for one that did not wait. */
  readonly clockMs: number | undefined;
}

/** Reads the assignments that the slice holds a little further on. It remembers since when runs wait, until they are assigned or end. */
export class Foresight {
  readonly #waitsSince = new Map<string, number>();

  foresee(fact: SliceFact): ForeseenAssignment | undefined {
    if (fact.stream !== 'RUNS') return undefined;
    const parsed = parseRunEvent(fact.event);
    if (parsed.kind !== 'event') return undefined;
    const { event } = parsed;
    const sinceMs = this.#waitsSince.get(event.run_id);
    const since = waitsSince(event, fact.time);
    if (since !== undefined) this.#waitsSince.set(event.run_id, Date.parse(since));
    else if (event.type !== 'RunCancelRequested') this.#waitsSince.delete(event.run_id);
    return event.type === 'RunAssigned' ? assignmentOf(event, fact.time, sinceMs) : undefined;
  }
}

/** Since when the run waits after this fact; undefined when the fact does not queue it. */
const waitsSince = (event: RunEvent, time: string): string | undefined => {
  if (event.type === 'RunQueued') return firstNotBefore(event.data, time) ?? time;
  if (event.type === 'RunAttemptFailed') return laterBy(time, event.data.retry_after_s) ?? time;
  return event.type === 'RunRequeued' ? time : undefined;
};

const assignmentOf = (
  { executor_id, data }: Extract<RunEvent, { readonly type: 'RunAssigned' }>,
  time: string,
  sinceMs: number | undefined,
): ForeseenAssignment => {
  const waitedS = data.reason?.waited_s ?? 0;
  return {
    executor_id: executor_id ?? '',
    slot: data.slot,
    version: data.workflow_version_id,
    runner: data.runner,
    isWarm: data.reason?.choice === 'warm',
    atMs: Date.parse(time),
    clockMs: sinceMs !== undefined && waitedS > 0 ? sinceMs + waitedS * 1_000 : undefined,
  };
};

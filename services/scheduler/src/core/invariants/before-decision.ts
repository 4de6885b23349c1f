import type { Decision } from '../decisions/decision.ts';
import type { KnownRun } from '../runs/known-run.ts';
import type { Scheduling } from '../scheduling.ts';
import { knownSlots, type KnownSlot } from './known-slots.ts';

/** A run as it was at a moment. */
export interface RunThen extends Pick<KnownRun, 'name' | 'key' | 'head' | 'run' | 'requirements' | 'slot'> {
  /** It waits for a slot, at once or from some time on. */
  readonly waits: boolean;
}

export interface Moment {
  readonly runs: readonly RunThen[];
  readonly slots: readonly KnownSlot[];
}

/**
 * What the scheduler knew before a decision, from what it knows after all decisions on an input: `decisions` are that one and those that
 * followed it. What they gave away is free again, and their runs wait.
 */
export const beforeDecision = (
  scheduling: Pick<Scheduling, 'runs' | 'executors'>,
  decisions: readonly Decision[],
  isDrained: (name: string) => boolean,
): Moment => {
  const undecided = new Set<string>();
  for (const decision of decisions)
    if (decision.type !== 'declare_lost' && decision.run.status === 'queued')
      undecided.add(decision.run.run_id);
  const runs = [...scheduling.runs()].map(
    ({ name, key, head, run, requirements, slot, decided }): RunThen => {
      const isUndecided = undecided.has(key.run_id);
      return {
        name,
        key,
        head,
        run,
        requirements,
        slot: isUndecided ? undefined : slot,
        waits: run.status === 'queued' && (isUndecided || !decided),
      };
    },
  );
  return { runs, slots: knownSlots(scheduling, runs, isDrained) };
};

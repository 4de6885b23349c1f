import { isExecuting, type Run, type RunFact } from '@runledger/contracts/fold/run';
import type { LoggedRun, LoggedRuns } from '../../evidence/logged-run.ts';

/** An organisation has runs that wait, and holds no slot. */
export interface SlotWait {
  readonly org_id: string;
  /** That got a slot, or the last one that did not wait any more. */
  readonly run: string;
  readonly from: RunFact;
  readonly to: RunFact;
  /** A run of it left the queue without a slot: a decision to give it one may have come too late. */
  readonly isDisturbed: boolean;
}

interface Step {
  readonly run: string;
  readonly fact: RunFact;
  readonly before: Run | undefined;
  readonly after: Run;
}

/** Of these runs of one organisation, in the order of the log. */
export const slotWaitsOf = (org_id: string, runs: LoggedRuns): SlotWait[] => {
  const waits: SlotWait[] = [];
  let [waiting, slots] = [0, 0];
  let begun: { readonly from: RunFact; isDisturbed: boolean } | undefined;
  for (const { run, fact, before, after } of stepsOf(runs)) {
    waiting += count(after, isQueued) - count(before, isQueued);
    slots += count(after, isExecuting) - count(before, isExecuting);
    if (begun && before && isQueued(before) && !isQueued(after) && !isExecuting(after))
      begun.isDisturbed = true;
    const isWaiting = waiting > 0 && slots === 0;
    if (isWaiting) begun ??= { from: fact, isDisturbed: false };
    else if (begun) {
      waits.push({ org_id, run, ...begun, to: fact });
      begun = undefined;
    }
  }
  return waits;
};

const stepsOf = (runs: LoggedRuns): Step[] =>
  [...runs.values()].flatMap(stepsOfRun).sort((one, other) => one.fact.sequence - other.fact.sequence);

const stepsOfRun = ({ key, facts, situations }: LoggedRun): Step[] =>
  situations.flatMap(({ sequence, run: after }, at) => {
    const fact = facts.find((one) => one.sequence === sequence);
    return fact ? [{ run: key.run_id, fact, before: situations[at - 1]?.run, after }] : [];
  });

const isQueued = ({ status }: Run): boolean => status === 'queued';

const count = (run: Run | undefined, is: (run: Run) => boolean): number => (run && is(run) ? 1 : 0);

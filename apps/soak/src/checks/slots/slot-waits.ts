import { isEnded, isExecuting, type Run, type RunFact } from '@runledger/contracts/fold/run';
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

/** What a run does in a situation. `lost`: it waits until a gateway ends it, because the log has lost it: nobody can give it a slot. */
type Place = 'waits' | 'lost' | 'executes' | 'none';

interface Step {
  readonly run: string;
  readonly fact: RunFact;
  readonly before: Place;
  readonly after: Place;
}

/** Of these runs of one organisation, in the order of the log. When the log loses a run is not known, so one that it does never waits. */
export const slotWaitsOf = (org_id: string, runs: LoggedRuns): SlotWait[] => {
  const waits: SlotWait[] = [];
  const now = { waits: 0, lost: 0, executes: 0, none: 0 };
  let begun: { readonly from: RunFact; isDisturbed: boolean } | undefined;
  for (const { run, fact, before, after } of stepsOf(runs)) {
    now[before] -= 1;
    now[after] += 1;
    const isWaiting = now.waits > 0 && now.executes === 0;
    if (begun && ((before === 'waits' && after === 'none') || now.lost > 0)) begun.isDisturbed = true;
    if (isWaiting) begun ??= { from: fact, isDisturbed: now.lost > 0 };
    else if (begun) {
      waits.push({ org_id, run, ...begun, to: fact });
      begun = undefined;
    }
  }
  return waits;
};

const stepsOf = (runs: LoggedRuns): Step[] =>
  [...runs.values()].flatMap(stepsOfRun).sort((one, other) => one.fact.sequence - other.fact.sequence);

const stepsOfRun = ({ key, facts, situations }: LoggedRun): Step[] => {
  const states = situations.map(({ run }) => run);
  const queuedFrom = states.findLastIndex((run) => !isQueued(run) && !isEnded(run)) + 1;
  const last = states.at(-1);
  const isLost = last !== undefined && isEnded(last) && last.end_reason === 'log_expired';
  const places = states.map((run, at): Place => {
    if (isExecuting(run)) return 'executes';
    if (!isQueued(run)) return 'none';
    return isLost && at >= queuedFrom ? 'lost' : 'waits';
  });
  return situations.flatMap(({ sequence }, at) => {
    const fact = facts.find((one) => one.sequence === sequence);
    const [before = 'none', after] = [places[at - 1], places[at]];
    return fact && after ? [{ run: key.run_id, fact, before, after }] : [];
  });
};

const isQueued = ({ status }: Run): boolean => status === 'queued';

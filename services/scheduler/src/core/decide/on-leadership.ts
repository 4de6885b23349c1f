import { isExecuting } from '@runledger/contracts/fold/run';
import type { RunDecision } from '../decisions/decision.ts';
import { giveUpLoss } from '../fleet/membership.ts';
import type { KnownRun } from '../runs/known-run.ts';
import type { SchedulerState } from '../state/scheduler-state.ts';
import { recoverWithoutExecutor, refreshSlotOf } from './decide.ts';
import { onReset } from './on-tick.ts';

export const onLead = (state: SchedulerState, connectedMs: number): RunDecision[] => {
  state.leading = true;
  onReset(state, connectedMs, { forget: true });
  return [...state.runs.kept()].flatMap((known) => {
    if (!isOnLostExecutor(state, known)) return recoverWithoutExecutor(state, known);
    // The previous leader may have received heartbeats of it again. They have a period to arrive here.
    state.orphans.add(known.name, state.connectedMs);
    return [];
  });
};

/** Another scheduler may decide now: the decisions that were being stored here no longer count. */
export const onStandBy = (state: SchedulerState): void => {
  const { runs, fleet, orphans, connectedMs } = state;
  state.leading = false;
  orphans.clear();
  for (const known of runs.kept()) if (known.decided) forgetDecision(state, known);
  for (const executor of fleet.executors.values()) {
    if (executor.lossPending) giveUpLoss(fleet, executor, connectedMs);
  }
};

const isOnLostExecutor = ({ former }: SchedulerState, { run }: KnownRun): boolean =>
  isExecuting(run) && former.removalReasonOf(run.attempt.executor_id) === 'executor_lost';

const forgetDecision = (state: SchedulerState, known: KnownRun): void => {
  if (known.pending?.type === 'assign') refreshSlotOf(state, state.runs.releaseSlot(known));
  known.pending = null;
  known.decided = false;
  state.runs.schedule(known);
};

import { isExecuting } from '@runledger/contracts/fold/run';
import { executorName } from '@runledger/contracts/ids';
import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { Decision, DeclareLost, RunDecision, EnforceCancel, TimeOut } from './decision.ts';
import {
  unresponsive,
  cancelExpired,
  neverBegan,
  noCapacityFor,
  nobodyCan,
  ranTooLong,
  storedTooLong,
  waitedAtLimit,
  waitedTooLong,
} from './messages.ts';
import { releaseLeftovers, resetHeartbeats } from './heartbeats.ts';
import { beginLoss, giveUpLoss } from './fleet.ts';
import type { RegisteredExecutor } from './registered-executor.ts';
import { allRequirements, requirementsKey, type Requirements } from './requirements.ts';
import { keyOfName } from './slot-allocation.ts';
import { fitsAnotherAttempt, type SchedulerState } from './scheduler-state.ts';
import { decide, decideOn, fillSlots, recovery, recoverWithoutExecutor, refreshSlotOf } from './decide.ts';
import { decisionBase, type KnownRun } from './runs/known-run.ts';

/** `now` is the broker's clock. */
export const onTick = (state: SchedulerState, now: number, connectedMs: number): Decision[] => {
  const { heartbeatPeriodMs } = state.settings;
  // A process that did not run received no heartbeats either.
  if (connectedMs - state.connectedMs > heartbeatPeriodMs / 2) {
    onReset(state, connectedMs, { forget: false });
  }
  state.connectedMs = connectedMs;
  state.nowMs = now;
  const changed = [...state.runs.takeChanged(now)];
  if (!state.leading) return [];
  const lost = state.fleet.lastSeen.unresponsiveFor(heartbeatPeriodMs, connectedMs);
  return [
    ...lost.map((executor) => declareLost(state, executor)),
    ...recoverOrphans(state),
    ...[...releaseLeftovers(state.fleet, connectedMs)].flatMap((executor) => fillSlots(state, executor)),
    ...changed.flatMap((known) => decideOn(state, known)),
    ...(connectedMs >= state.deadlinesFromMs ? endExpired(state, now) : []),
  ];
};

/** Heartbeats may have been missed, so every period starts again. */
export const onReset = (
  state: SchedulerState,
  connectedMs: number,
  { forget }: { readonly forget: boolean },
): void => {
  state.connectedMs = connectedMs;
  resetHeartbeats(state.fleet, connectedMs, { forget });
  state.orphans.reset(connectedMs);
  if (forget) state.deadlinesFromMs = connectedMs + state.settings.heartbeatPeriodMs;
};

const declareLost = ({ fleet, settings }: SchedulerState, executor: RegisteredExecutor): DeclareLost => {
  beginLoss(fleet, executor);
  const name = executorName(executor.id);
  const others = [...fleet.executors.keys()].filter((id) => id !== executor.id);
  return {
    type: 'declare_lost',
    executor: executor.id,
    lastHeartbeat: executor.lastHeartbeat,
    message: unresponsive(settings.heartbeatPeriodMs / 1_000),
    ...(others.some((id) => executorName(id) === name) && { restarted: true }),
  };
};

const recoverOrphans = (state: SchedulerState): RunDecision[] => {
  const { orphans, runs, fleet, settings, connectedMs } = state;
  return orphans.takeAfter(settings.heartbeatPeriodMs, connectedMs).flatMap((name) => {
    const known = runs.get(keyOfName(name));
    if (!known || !isExecuting(known.run) || fleet.executors.has(known.run.attempt.executor_id)) return [];
    return decide(state, known, recovery(known, known.run, 'executor_lost'));
  });
};

const endExpired = (state: SchedulerState, now: number): RunDecision[] => {
  const { runs, fleet, settings } = state;
  const known = new Map<string, boolean>();
  const hasCapacityFor = (requirements: Requirements): boolean => {
    const key = requirementsKey(requirements);
    const has =
      known.get(key) ??
      allRequirements(requirements).some((one) => fleet.capabilities.ableTo(one).length > 0);
    known.set(key, has);
    return has;
  };
  const { cancelEnforceMs } = settings;
  const hasCapacity = fitsAnotherAttempt(state);
  const decisions: RunDecision[] = [];
  for (const run of runs.takeExpired(now)) {
    const limit = runs.limitFor(run);
    decisions.push(
      ...decide(state, run, expired(run, { cancelEnforceMs, hasCapacityFor, hasCapacity, limit })),
    );
  }
  return decisions;
};

interface ExpiryCircumstances {
  readonly cancelEnforceMs: number;
  /** Whether an executor is registered that can take such a run as soon as a slot is free. */
  readonly hasCapacityFor: (requirements: Requirements) => boolean;
  /** Whether the log has room for an attempt. */
  readonly hasCapacity: boolean;
  /** What keeps a waiting run from a slot, beside the slots that are taken. */
  readonly limit: Limit | undefined;
}

/** The end of a run whose deadline has passed. */
const expired = (
  known: KnownRun,
  { cancelEnforceMs, hasCapacityFor, hasCapacity, limit }: ExpiryCircumstances,
): TimeOut | EnforceCancel => {
  const { run, requirements } = known;
  const base = { ...decisionBase(known), run };
  if (run.status === 'queued') {
    if (!hasCapacityFor(requirements)) {
      return { ...base, type: 'time_out', reason: 'no_capacity', message: nobodyCan(requirements) };
    }
    if (!hasCapacity)
      return { ...base, type: 'time_out', reason: 'storage_full', message: noCapacityFor(run) };
    const message = limit
      ? waitedAtLimit(run, limit)
      : waitedTooLong(run.request.start_deadline_s, requirements);
    return { ...base, type: 'time_out', reason: 'start_deadline', message };
  }
  if (run.cancel) {
    return { ...base, run, type: 'enforce_cancel', message: cancelExpired(run, cancelEnforceMs / 1_000) };
  }
  if (run.status === 'started') {
    return { ...base, type: 'time_out', reason: 'start_deadline', message: neverBegan(run) };
  }
  const message = run.status === 'uploading' ? storedTooLong(run) : ranTooLong(run);
  return { ...base, type: 'time_out', reason: 'run_timeout', message };
};

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

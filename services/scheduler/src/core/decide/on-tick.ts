import { isExecuting } from '@runledger/contracts/fold/run';
import { executorName } from '@runledger/contracts/ids';
import type { Decision, DeclareLost, RunDecision } from '../decisions/decision.ts';
import { unresponsive } from '../decisions/messages.ts';
import { releaseLeftovers, resetHeartbeats } from '../fleet/heartbeats.ts';
import { beginLoss } from '../fleet/membership.ts';
import type { RegisteredExecutor } from '../fleet/registered-executor.ts';
import { allRequirements, requirementsKey, type Requirements } from '../slots/requirements.ts';
import { keyOfName } from '../slots/run-name.ts';
import { hasRoomForAttempt } from '../state/attempt-room.ts';
import type { SchedulerState } from '../state/scheduler-state.ts';
import { decide, decideOn, fillSlots } from './decide.ts';
import { expired } from './expired.ts';
import { recovery } from './recovery.ts';

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
  const hasRoom = hasRoomForAttempt(state);
  const decisions: RunDecision[] = [];
  for (const run of runs.takeExpired(now)) {
    const limit = runs.limitFor(run);
    decisions.push(...decide(state, run, expired(run, { cancelEnforceMs, hasCapacityFor, hasRoom, limit })));
  }
  return decisions;
};

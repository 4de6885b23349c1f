import type { FleetEvent, FleetRequest } from '@runledger/contracts/events/fleet-event';
import { executorId, executorName, isExecutorId, type ExecutorId } from '@runledger/contracts/ids';
import type { RunDecision } from './decision.ts';
import type { RemovalReason } from './messages.ts';
import { type Drain, type DrainedName, drain, register, remove, setDrained } from './fleet.ts';
import { acceptHeartbeat, type ReceivedHeartbeat } from './heartbeats.ts';
import type { Registration } from './registered-executor.ts';
import type { ReceivedFleetFact } from './scheduler-input.ts';
import type { SchedulerState } from './scheduler-state.ts';
import { fillSlots, recoverWithoutExecutor } from './decide.ts';

/** Whether nothing later is known about the executor or the name. */
export const isNew = (
  { drained, fleet, former }: SchedulerState,
  event: FleetEvent,
  sequence: number,
): boolean => {
  if ('executor_name' in event) return drained.isNew(event.executor_name, sequence);
  if (!isExecutorId(event.executor_id)) return false;
  const id = executorId(event.executor_id);
  return sequence > (fleet.executors.get(id)?.sequence ?? former.sequenceOf(id));
};

export const onFleetFact = (
  state: SchedulerState,
  { event, sequence, time, connectedMs }: ReceivedFleetFact,
): RunDecision[] => {
  if (!isNew(state, event, sequence)) return [];
  if ('executor_name' in event) return onRequest(state, event, sequence, time);
  const id = executorId(event.executor_id);
  switch (event.type) {
    case 'ExecutorRegistered':
      return onRegistered(state, id, { registration: { event, time }, sequence, connectedMs });
    case 'ExecutorDraining':
      return onDraining(state, id, sequence);
    case 'ExecutorLeft':
      return onRemoved(state, id, 'executor_left', sequence);
    case 'ExecutorLost':
      return onRemoved(state, id, 'executor_lost', sequence);
  }
};

/** From a snapshot. A later request may be known already. */
export const onDrainedName = (state: SchedulerState, { name, sequence, drain }: DrainedName): RunDecision[] =>
  state.drained.isNew(name, sequence) ? setDrain(state, name, sequence, drain) : [];

export const onHeartbeat = (state: SchedulerState, received: ReceivedHeartbeat): RunDecision[] => {
  const { heartbeat, time, connectedMs } = received;
  if (!isExecutorId(heartbeat.executor_id)) return [];
  const { fleet, former } = state;
  const id = executorId(heartbeat.executor_id);
  const sequence = former.sequenceOf(id);
  const registration = former.heartbeatOf(id, time);
  const returned = registration ? onRegistered(state, id, { registration, sequence, connectedMs }) : [];
  const executor = fleet.executors.get(id);
  if (!executor || !acceptHeartbeat(fleet, executor, received)) return returned;
  return [...returned, ...fillSlots(state, executor)];
};

interface Registered {
  readonly registration: Registration;
  readonly sequence: number;
  readonly connectedMs: number;
}

const onRegistered = (
  state: SchedulerState,
  id: ExecutorId,
  { registration, sequence, connectedMs }: Registered,
): RunDecision[] => {
  const drained = state.drained.drainOf(executorName(id)) !== null;
  state.former.delete(id);
  register(state.fleet, id, { registration, sequence, drained }, connectedMs);
  return fillSlots(state, state.fleet.executors.get(id));
};

const onDraining = ({ fleet }: SchedulerState, id: ExecutorId, sequence: number): RunDecision[] => {
  const executor = fleet.executors.get(id);
  if (!executor) return [];
  executor.sequence = sequence;
  drain(fleet, executor);
  return [];
};

const onRequest = (
  state: SchedulerState,
  { type, executor_name, requested_by }: FleetRequest,
  sequence: number,
  time: string,
): RunDecision[] => {
  const drain = type === 'ExecutorDrainRequested' ? { requested_at: time, requested_by } : null;
  return setDrain(state, executor_name, sequence, drain);
};

const setDrain = (
  state: SchedulerState,
  name: string,
  sequence: number,
  drain: Drain | null,
): RunDecision[] => {
  state.drained.set(name, sequence, drain);
  return setDrained(state.fleet, name, drain !== null).flatMap((executor) => fillSlots(state, executor));
};

const onRemoved = (
  state: SchedulerState,
  id: ExecutorId,
  reason: RemovalReason,
  sequence: number,
): RunDecision[] => {
  const { fleet, former, runs } = state;
  const executor = remove(fleet, id);
  if (!executor && former.removalReasonOf(id)) return [];
  const lastHeartbeat = executor?.lastHeartbeat ?? null;
  former.add(id, { reason, registration: executor?.registration, sequence, lastHeartbeat });
  if (!state.leading) return [];
  return runs.onExecutor(id).flatMap((known) => recoverWithoutExecutor(state, known));
};

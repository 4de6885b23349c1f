import type { Placement } from '@runledger/contracts/events/placement';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { ExecutingRun, QueuedRun } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** A run that has not ended, as it was when the decision was made. Its request has no inputs here. */
export type LiveRun = QueuedRun | ExecutingRun;

interface OnRun<Of extends LiveRun = LiveRun> {
  readonly key: RunKey;
  readonly run: Of;
  /** The head that the decision rests on: the fence of its append. */
  readonly expected: number;
  /** The event at that head; null when it has no id. */
  readonly causedBy: string | null;
}

export interface Assign extends OnRun<QueuedRun> {
  readonly type: 'assign';
  readonly attempt: number;
  readonly executor: ExecutorId;
  readonly executor_public_key: string;
  readonly slot: number;
  /** Of the slot. */
  readonly gpu: GpuModel;
  readonly placement: Placement;
}

export interface Requeue extends OnRun<ExecutingRun> {
  readonly type: 'requeue';
  readonly reason: RunEventOf<'RunRequeued'>['data']['reason'];
  readonly message: string;
}

export interface TimeOut extends OnRun {
  readonly type: 'time_out';
  readonly reason: RunEventOf<'RunTimedOut'>['data']['reason'];
  readonly message: string;
}

export interface GiveUp extends OnRun {
  readonly type: 'give_up';
  readonly reason: RunEventOf<'RunGivenUp'>['data']['reason'];
  readonly message: string;
}

export interface EnforceCancel extends OnRun<ExecutingRun> {
  readonly type: 'enforce_cancel';
  readonly message: string;
}

export interface DeclareLost {
  readonly type: 'declare_lost';
  readonly executor: ExecutorId;
  /** The broker's time of the last received heartbeat; null without one. */
  readonly lastHeartbeat: string | null;
  readonly message: string;
  /** A later process of its name has registered, as after every restart that was not a stop. */
  readonly restarted?: true;
}

export type RunDecision = Assign | Requeue | TimeOut | GiveUp | EnforceCancel;
export type Decision = RunDecision | DeclareLost;

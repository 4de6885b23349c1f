import type { FleetEvent } from '@runledger/contracts/events/fleet-event';
import type { WriterRole } from '@runledger/contracts/events/event-envelope';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Decision } from './decision.ts';
import type { DurationRecord } from './durations.ts';
import type { DrainedName } from './fleet.ts';
import type { ReceivedHeartbeat } from './heartbeats.ts';

/** Why heartbeats may have been missed: until then their absence says nothing about the executors. */
export type ResetCause = 'reconnect' | 'slow_round_trip';

/** A run's history as the log has it. */
export interface RunUpdate {
  readonly key: RunKey;
  readonly history: RunHistory;
  readonly event_id: string | null;
  readonly writer: WriterRole;
}

/** `sequence` and `time` are those of FLEET: a fact that arrives late does not undo a later one. */
export interface ReceivedFleetFact {
  readonly event: FleetEvent;
  readonly sequence: number;
  readonly time: string;
  readonly connectedMs: number;
}

/** The inputs of all decisions. `connectedMs` is monotonic time, in milliseconds. */
export type SchedulerInput =
  /** A run's history after its next message; also after a refused one, because it moved the head. */
  | ({ readonly type: 'run_fact' } & RunUpdate)
  /** The whole run, read again: it replaces the known history, also at the same head. */
  | ({ readonly type: 'run_read_again' } & RunUpdate)
  /** Its history is damaged: nothing can be decided on it. */
  | { readonly type: 'run_unreadable'; readonly key: RunKey }
  | ({ readonly type: 'fleet_fact' } & ReceivedFleetFact)
  /** A drained name of a snapshot: its request may have left FLEET since. */
  | { readonly type: 'drained_name'; readonly drained: DrainedName }
  /** Of a snapshot. */
  | { readonly type: 'durations'; readonly records: readonly DurationRecord[] }
  | ({ readonly type: 'heartbeat' } & ReceivedHeartbeat)
  /** `now` is the broker's clock, in milliseconds since 1970. */
  | { readonly type: 'tick'; readonly now: number; readonly connectedMs: number }
  /** The bytes of the log and their limit; -1 for no limit. */
  | { readonly type: 'log_size'; readonly bytes: number; readonly maxBytes: number }
  | { readonly type: 'reset_heartbeats'; readonly because: ResetCause; readonly connectedMs: number }
  /** From now on decisions are made. Before, inputs only change the state. */
  | { readonly type: 'lead'; readonly connectedMs: number }
  | { readonly type: 'stand_by' }
  | { readonly type: 'settled'; readonly decision: Decision; readonly outcome: Outcome };

export type Outcome =
  | 'stored'
  /** Another message came first or, for a loss, the executor sent a heartbeat. */
  | 'refused'
  /** It could not be executed, and nothing was stored. It may be decided again. */
  | 'failed'
  /** The log no longer holds the run's events: nothing can be decided on it. */
  | 'expired';

import type { FleetEvent, Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { History } from '@runledger/contracts/fold/run-chain';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { WriterRole } from '@runledger/contracts/events/writer';
import type { Decision } from './decisions/decision.ts';
import type { DrainedName } from './fleet/drained-names.ts';

/** Why beats cannot have been heard for a while: the silence says nothing about the executors. */
export type ResetCause = 'reconnect' | 'gap' | 'slow_round_trip';

/** A run's history as the log has it. */
export interface RunUpdate {
  readonly key: RunKey;
  readonly history: History;
  readonly event_id: string | null;
  readonly writer: WriterRole;
}

/** Everything that the scheduler's decisions follow from. `connectedMs` is monotonic time, in milliseconds. */
export type SchedulerInput =
  /** A run's history after its next message: also one that was refused, since it moved the head. */
  | ({ readonly type: 'run_fact' } & RunUpdate)
  /** The whole run, read anew: it replaces what was known of it, also at the same head. */
  | ({ readonly type: 'run_read_again' } & RunUpdate)
  /** Its history is damaged: nothing can be decided on it. */
  | { readonly type: 'run_unreadable'; readonly key: RunKey }
  /** `sequence` and `time` are the ones of FLEET: a fact that is told late undoes no later one. */
  | {
      readonly type: 'fleet_fact';
      readonly event: FleetEvent;
      readonly sequence: number;
      readonly time: string;
      readonly connectedMs: number;
    }
  /** A name that was drained, from a snapshot: its request may have left FLEET since. */
  | { readonly type: 'drained_name'; readonly drained: DrainedName }
  /** `time` is the broker's, ISO 8601: it tells one beat from another. */
  | {
      readonly type: 'heartbeat';
      readonly heartbeat: Heartbeat;
      readonly time: string;
      readonly connectedMs: number;
    }
  /** `now` is the broker's clock, in milliseconds since 1970. */
  | { readonly type: 'tick'; readonly now: number; readonly connectedMs: number }
  | { readonly type: 'reset_beats'; readonly because: ResetCause; readonly connectedMs: number }
  /** From here on decisions are made; until then inputs are only remembered. */
  | { readonly type: 'lead'; readonly connectedMs: number }
  | { readonly type: 'stand_by' }
  | { readonly type: 'settled'; readonly decision: Decision; readonly outcome: Outcome };

export type Outcome =
  | 'stored'
  /** Something else stands at that head, or, of a loss, the executor was heard after all. */
  | 'refused'
  /** It could not be told, and nothing was stored: it may be decided again. */
  | 'failed'
  /** The log holds the run's events no longer: nothing can be decided on it any more. */
  | 'expired';

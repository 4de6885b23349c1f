import { BlobRef } from '@runledger/contracts/blobs';
import type { EarlierAttempt } from '@runledger/contracts/fold/run';
import { Placement } from '@runledger/contracts/events/placement';
import { StoredRunError } from '@runledger/contracts/events/run-error';
import { ColdStartParts, FactVersions, RunQueuedData } from '@runledger/contracts/events/run-event-data';
import { GpuModel } from '@runledger/contracts/gpu';
import { Type, type Static } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { LiveRun } from '../core/decision.ts';
import type { DurationRecord } from '../core/durations.ts';
import type { PackedRows } from '../core/runs/packed-rows.ts';
import type { DrainedName } from '../core/fleet.ts';

/** A run that has not ended, as the scheduler has it in memory. */
export interface SnapshotRun {
  readonly head: number;
  readonly event_id: string | null;
  readonly run: LiveRun;
}

const Sequence = Type.Integer({ minimum: 1 });
const MaybeId = Type.Union([Type.String(), Type.Null()]);

/** Up to where a state is derived from the log, and what distinguishes that log from another one. */
export const Position = Type.Object({
  stream: Type.Literal('RUNS'),
  /** The broker's time of the stream's creation. */
  created: Type.String(),
  sequence: Sequence,
  /** The event at that sequence; null when it has no id. */
  event_id: MaybeId,
});
export type Position = Static<typeof Position>;

/** Drained names. FLEET forgets its oldest messages in time, but a name stays drained until it is resumed. */
interface DrainsSnapshot {
  /** The broker's time of the creation of FLEET, whose sequences these are. */
  readonly created: string;
  readonly names: readonly DrainedName[];
}

export interface Snapshot {
  /** Left out while RUNS has had no message; then there are no runs. */
  readonly position?: Position | undefined;
  readonly drains: DrainsSnapshot;
  /** How long runs held their slots: ended runs are not in the snapshot. */
  readonly durations: readonly DurationRecord[];
  /** Those of which rows do not say everything. */
  readonly runs: readonly SnapshotRun[];
  /** All others. They are read once. */
  readonly rows: Iterable<PackedRows>;
  readonly rowCount: number;
}

const Time = Type.String({ format: 'date-time' });
const Uuid = Type.String({ format: 'uuid' });
const Drained = Type.Object({
  name: Type.String(),
  sequence: Sequence,
  drain: Type.Object({ requested_at: Time, requested_by: Uuid }),
});
const Duration = Type.Object({
  name: Type.String(),
  weight: Type.Number({ exclusiveMinimum: 0 }),
  mean: Type.Number(),
  squares: Type.Number({ minimum: 0 }),
});
export const FORMAT = 4;
const Header = Type.Object({
  format: Type.Literal(FORMAT),
  position: Type.Optional(Position),
  runs: Type.Integer({ minimum: 0 }),
  rows: Type.Integer({ minimum: 0 }),
  drains: Type.Object({ created: Type.String(), names: Type.Array(Drained) }),
  durations: Type.Array(Duration),
});
export type Header = Static<typeof Header>;

const Attempt = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  executor_id: Type.String(),
  slot_allocation_id: Uuid,
  slot: Type.Integer({ minimum: 0 }),
  gpu: Type.Optional(GpuModel),
  executor_public_key: Type.String(),
  assigned_at: Time,
  placement: Type.Optional(Placement),
  fact_versions: Type.Optional(FactVersions),
});
const Cancel = Type.Object({ requested_at: Time, by: Type.Enum(['client', 'operator']) });
const EarlierAttempts = Type.Unsafe<readonly EarlierAttempt[]>(
  Type.Array(
    Type.Object({
      number: Type.Integer({ minimum: 1 }),
      executor_id: Type.String(),
      gpu: Type.Optional(GpuModel),
      placement: Type.Optional(Placement),
      started_at: Type.Union([Time, Type.Null()]),
      ended_at: Time,
      error: StoredRunError,
      is_void: Type.Optional(Type.Literal(true)),
    }),
  ),
);
const identity = {
  org_id: Uuid,
  run_id: Uuid,
  number: Sequence,
  request: RunQueuedData,
  correlation_id: Type.String(),
  traceparent: MaybeId,
  created_at: Time,
  queued_at: Time,
  updated_at: Time,
  output_bytes: Type.Integer({ minimum: 0 }),
  earlier_attempts: EarlierAttempts,
  not_before: Type.Union([Time, Type.Null()]),
  log_blob: Type.Optional(BlobRef),
};
const executing = { ...identity, attempt: Attempt, cancel: Type.Union([Cancel, Type.Null()]) };
const Line = Type.Object({
  head: Sequence,
  event_id: MaybeId,
  run: Type.Union([
    Type.Object({ ...identity, status: Type.Literal('queued'), attempt: Type.Union([Attempt, Type.Null()]) }),
    Type.Object({ ...executing, status: Type.Literal('started') }),
    Type.Object({
      ...executing,
      status: Type.Enum(['running', 'uploading']),
      started_at: Time,
      cold_start_s: Type.Number({ minimum: 0 }),
      cold_start_parts_s: Type.Optional(ColdStartParts),
      code_sha256: Type.Optional(Type.String()),
      environment_sha256: Type.Optional(Type.String()),
    }),
  ]),
});

/** What requests of rows have in common. */
const Request = Type.Object({ org_id: Uuid, request: RunQueuedData });
const RowTexts = Type.Object({
  event_id: Type.Optional(MaybeId),
  correlation_id: Type.Optional(Type.String()),
  traceparent: Type.Optional(MaybeId),
  concurrency_key: Type.Optional(Type.String()),
  not_before: Type.Optional(Time),
});

export const isHeader = compiledSchema(Header);
export const areRuns = compiledSchema(Type.Array(Line));
export const areRequests = compiledSchema(Type.Array(Request));
/** By the index of the row. */
export const areTexts = compiledSchema(Type.Array(Type.Tuple([Type.Integer({ minimum: 0 }), RowTexts])));

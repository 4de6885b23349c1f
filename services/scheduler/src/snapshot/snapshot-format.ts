import { BlobRef } from '@runledger/contracts/blobs';
import { parseJson } from '@runledger/contracts/json';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { EarlierAttempt } from '@runledger/contracts/fold/run';
import { Placement } from '@runledger/contracts/events/placement';
import { RunError } from '@runledger/contracts/events/run-error';
import { RunQueuedData } from '@runledger/contracts/events/run-event-data';
import { GpuModel } from '@runledger/contracts/gpu';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import split from 'split2';
import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveRun } from '../core/decisions/decision.ts';
import type { DurationRecord } from '../core/forecast/durations.ts';
import type { DrainedName } from '../core/fleet/drained-names.ts';

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
  readonly runs: readonly SnapshotRun[];
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
const FORMAT = 1;
const Header = Type.Object({
  format: Type.Literal(FORMAT),
  position: Type.Optional(Position),
  runs: Type.Integer({ minimum: 0 }),
  drains: Type.Object({ created: Type.String(), names: Type.Array(Drained) }),
  durations: Type.Array(Duration),
});
type Header = Static<typeof Header>;

const Attempt = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  executor_id: Type.String(),
  slot_allocation_id: Uuid,
  slot: Type.Integer({ minimum: 0 }),
  gpu: Type.Optional(GpuModel),
  executor_public_key: Type.String(),
  assigned_at: Time,
  placement: Type.Optional(Placement),
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
      error: RunError,
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
    }),
  ]),
});

const headers = Compile(Header);
const lines = Compile(Line);
/** Characters. A run holds its request, which the API bounds far below this. */
const MAX_LINE = 16 * 1024 * 1024;
const RUNS_AT_ONCE = 100;

/**
 * JSON lines, compressed: a header, then one line for each run. The lines are made while they are read, so a snapshot may
 * be larger than memory has room for as one text.
 */
export const encodeSnapshot = (snapshot: Snapshot): Readable =>
  // An error destroys the stream, and its reader gets the error.
  pipeline(Readable.from(linesOf(snapshot)), createGzip(), () => undefined);

function* linesOf({ position, runs, drains, durations }: Snapshot): Generator<string> {
  yield JSON.stringify({ format: FORMAT, position, runs: runs.length, drains, durations });
  for (let from = 0; from < runs.length; from += RUNS_AT_ONCE) {
    const part = runs.slice(from, from + RUNS_AT_ONCE);
    yield part.map((run) => `\n${JSON.stringify(run)}`).join('');
  }
}

export type DecodedSnapshot =
  | ({ readonly kind: 'decoded' } & Snapshot)
  /** The drained names may be valid when the runs are not. */
  | { readonly kind: 'invalid'; readonly why: string; readonly drains?: DrainsSnapshot };

/**
 * Reads a snapshot line by line and checks everything: it may be of another release, or damaged.
 * @throws {LogUnavailable} when the bytes cannot be read now
 */
export const decodeSnapshot = async (bytes: AsyncIterable<Uint8Array>): Promise<DecodedSnapshot> => {
  const text = pipeline(bytes, createGunzip(), split('\n', { maxLength: MAX_LINE }), () => undefined);
  let header: Header | undefined;
  const runs: SnapshotRun[] = [];
  const invalid = (why: string): DecodedSnapshot => ({
    kind: 'invalid',
    why,
    ...(header && { drains: header.drains }),
  });
  try {
    for await (const line of text as AsyncIterable<string>) {
      const value = parseJson(line);
      if (header) {
        if (!lines.Check(value)) {
          return invalid(`the run in line ${runs.length + 2} does not match its schema`);
        }
        // Checked right above; the schema knows ids as plain text.
        runs.push(value as SnapshotRun);
      } else if (headers.Check(value)) header = value;
      else return invalid(`it is not of format ${FORMAT}`);
    }
  } catch (error) {
    if (error instanceof LogUnavailable) throw error;
    return invalid(`it cannot be read (${error instanceof Error ? error.message : String(error)})`);
  }
  if (!header) return invalid('it is empty');
  if (runs.length !== header.runs) {
    return invalid(`it should hold ${header.runs} runs and holds ${runs.length}`);
  }
  return {
    kind: 'decoded',
    position: header.position,
    runs,
    drains: header.drains,
    durations: header.durations,
  };
};

export const keyOf = ({ run }: SnapshotRun): RunKey => ({
  org_id: orgId(run.org_id),
  run_id: runId(run.run_id),
});

import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { RunQueuedData } from '@runledger/contracts/events/run-event-data';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveRun } from '../core/decisions/decision.ts';
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
  readonly runs: readonly SnapshotRun[];
}

const Time = Type.String({ format: 'date-time' });
const Uuid = Type.String({ format: 'uuid' });
const Drained = Type.Object({
  name: Type.String(),
  sequence: Sequence,
  drain: Type.Object({ requested_at: Time, requested_by: Uuid }),
});
const FORMAT = 1;
const Header = Type.Object({
  format: Type.Literal(FORMAT),
  position: Type.Optional(Position),
  runs: Type.Integer({ minimum: 0 }),
  drains: Type.Object({ created: Type.String(), names: Type.Array(Drained) }),
});

const Attempt = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  executor_id: Type.String(),
  slot_allocation_id: Uuid,
  slot: Type.Integer({ minimum: 0 }),
  executor_public_key: Type.String(),
  assigned_at: Time,
});
const Cancel = Type.Object({ requested_at: Time, by: Type.Enum(['client', 'operator']) });
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
};
const executing = { ...identity, attempt: Attempt, cancel: Type.Union([Cancel, Type.Null()]) };
const Line = Type.Object({
  head: Sequence,
  event_id: MaybeId,
  run: Type.Union([
    Type.Object({ ...identity, status: Type.Literal('queued'), attempt: Type.Union([Attempt, Type.Null()]) }),
    Type.Object({ ...executing, status: Type.Literal('started') }),
    Type.Object({ ...executing, status: Type.Enum(['running', 'uploading']), started_at: Time }),
  ]),
});

const headers = Compile(Header);
const lines = Compile(Line);
const zip = promisify(gzip);
const unzip = promisify(gunzip);
const MAX_SNAPSHOT_BYTES = 1024 ** 3;
const RUNS_AT_ONCE = 500;

/** JSON lines, compressed: a header, then one line for each run. Other work goes on meanwhile. */
export const encodeSnapshot = async ({ position, runs, drains }: Snapshot): Promise<Uint8Array> => {
  const header = { format: FORMAT, position, runs: runs.length, drains };
  const parts = [Buffer.from(JSON.stringify(header))];
  for (let from = 0; from < runs.length; from += RUNS_AT_ONCE) {
    const part = runs.slice(from, from + RUNS_AT_ONCE).map((run) => `\n${JSON.stringify(run)}`);
    parts.push(Buffer.from(part.join('')));
    await yieldToOthers();
  }
  return zip(Buffer.concat(parts));
};

export type DecodedSnapshot =
  | ({ readonly kind: 'decoded' } & Snapshot)
  /** The drained names may be valid when the runs are not. */
  | { readonly kind: 'invalid'; readonly why: string; readonly drains?: DrainsSnapshot };

/** Checks everything: a snapshot may be of another release, or damaged. */
export const decodeSnapshot = async (bytes: Uint8Array): Promise<DecodedSnapshot> => {
  const text = await unzip(bytes, { maxOutputLength: MAX_SNAPSHOT_BYTES }).catch((error: unknown) =>
    String(error),
  );
  if (typeof text === 'string') return { kind: 'invalid', why: `it cannot be decompressed (${text})` };
  const [first = '', ...rest] = text.toString('utf8').split('\n');
  const header = parse(first);
  if (!headers.Check(header)) return { kind: 'invalid', why: `it is not of format ${FORMAT}` };
  const { position, drains } = header;
  if (rest.length !== header.runs) {
    return { kind: 'invalid', why: `it should hold ${header.runs} runs and holds ${rest.length}`, drains };
  }
  const runs: SnapshotRun[] = [];
  for (const [index, line] of rest.entries()) {
    const value = parse(line);
    if (!lines.Check(value)) {
      return { kind: 'invalid', why: `the run in line ${index + 2} does not match its schema`, drains };
    }
    // Checked right above; the schema knows ids as plain text.
    runs.push(value as SnapshotRun);
    if (index % RUNS_AT_ONCE === 0) await yieldToOthers();
  }
  return { kind: 'decoded', position, runs, drains };
};

export const keyOf = ({ run }: SnapshotRun): RunKey => ({
  org_id: orgId(run.org_id),
  run_id: runId(run.run_id),
});

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};

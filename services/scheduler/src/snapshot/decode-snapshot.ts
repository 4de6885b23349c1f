import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { PackedRows, RowRequest } from '../core/rows/packed-rows.ts';
import { FRAME, framesIn, jsonOf } from './frames.ts';
import { decodeRows } from './rows-frame.ts';
import {
  areRequests,
  areRuns,
  FORMAT,
  isHeader,
  type Header,
  type Snapshot,
  type SnapshotRun,
} from './snapshot-format.ts';

export type DecodedSnapshot =
  | ({ readonly kind: 'decoded'; readonly rows: readonly PackedRows[] } & Omit<Snapshot, 'rows'>)
  /** The drained names may be valid when the runs are not. */
  | { readonly kind: 'invalid'; readonly why: string; readonly drains?: Snapshot['drains'] };

interface Read {
  header: Header | undefined;
  readonly requests: RowRequest[];
  readonly rows: PackedRows[];
  readonly runs: SnapshotRun[];
  hasEnd: boolean;
}

/**
 * Reads a snapshot frame by frame and checks everything: it may be of another release, or damaged.
 * @throws {LogUnavailable} when the bytes cannot be read now
 */
export const decodeSnapshot = async (bytes: AsyncIterable<Uint8Array>): Promise<DecodedSnapshot> => {
  const read: Read = { header: undefined, requests: [], rows: [], runs: [], hasEnd: false };
  const invalid = (why: string): DecodedSnapshot => ({
    kind: 'invalid',
    why,
    ...(read.header && { drains: read.header.drains }),
  });
  try {
    for await (const { type, content } of framesIn(bytes)) takeFrame(read, type, content);
  } catch (error) {
    if (error instanceof LogUnavailable) throw error;
    return invalid(`it cannot be read (${error instanceof Error ? error.message : String(error)})`);
  }
  const { header, rows, runs } = read;
  if (!header) return invalid('it is empty');
  const rowCount = rows.reduce((sum, { numbers }) => sum + numbers.length, 0);
  if (!read.hasEnd) return invalid('its end is missing');
  if (runs.length !== header.runs || rowCount !== header.rows) {
    return invalid(`it should hold ${header.runs + header.rows} runs and holds ${runs.length + rowCount}`);
  }
  const { position, drains, durations } = header;
  return { kind: 'decoded', position, drains, durations, runs, rows, rowCount };
};

/** @throws when it is invalid */
const takeFrame = (read: Read, type: number, content: Buffer): void => {
  if (read.hasEnd) throw new Error('it goes on behind its end');
  if (type === FRAME.rows) {
    read.rows.push(decodeRows(content, read.requests));
    return;
  }
  if (type === FRAME.end) {
    read.hasEnd = true;
    return;
  }
  const value = jsonOf(content);
  if (!read.header) {
    if (type !== FRAME.header || !isHeader.Check(value)) throw new Error(`it is not of format ${FORMAT}`);
    read.header = value;
  } else if (type === FRAME.requests && areRequests.Check(value)) {
    // Checked right before; the schema knows ids as plain text.
    read.requests.push(...(value as RowRequest[]));
  } else if (type === FRAME.runs && areRuns.Check(value)) {
    read.runs.push(...(value as SnapshotRun[]));
  } else throw new Error(`a part of type ${type} does not match its schema`);
};

import { Readable } from 'node:stream';
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { parsePlainJson } from '@runledger/contracts/json';
import { messageOf } from '@runledger/resilience/errors';
import {
  type RowRequest,
  type PackedRows,
  type RowTexts,
  PAGE_ROWS,
  ROW_WORDS,
} from '../core/runs/packed-rows.ts';
import {
  FORMAT,
  type Header,
  type Snapshot,
  type SnapshotRun,
  areRequests,
  areRuns,
  isHeader,
  areTexts,
} from './snapshot-format.ts';

const RUNS_AT_ONCE = 100;

/**
 * Frames: a header, the rows page by page, the other runs, and an end. Requests come before the first rows that have them. The frames are made while they are
 * read, so a snapshot is never in memory as a whole, and other work goes on between two frames.
 */
export const encodeSnapshot = (snapshot: Snapshot): Readable => Readable.from(framesOf(snapshot));

function* framesOf({ position, runs, rows, rowCount, drains, durations }: Snapshot): Generator<Buffer> {
  const header: Header = {
    format: FORMAT,
    ...(position && { position }),
    runs: runs.length,
    rows: rowCount,
    drains: { ...drains, names: [...drains.names] },
    durations: [...durations],
  };
  yield jsonFrame(FRAME.header, header);
  const numbers = new Map<RowRequest, number>();
  for (const page of rows) {
    const added = [...new Set(page.requests)].filter((request) => !numbers.has(request));
    for (const request of added) numbers.set(request, numbers.size);
    if (added.length > 0)
      yield jsonFrame(
        FRAME.requests,
        added.map(({ org_id, request }) => ({ org_id, request })),
      );
    yield frame(
      FRAME.rows,
      encodeRows(page, (request) => numbers.get(request) ?? 0),
    );
  }
  for (let from = 0; from < runs.length; from += RUNS_AT_ONCE) {
    const part: readonly SnapshotRun[] = runs.slice(from, from + RUNS_AT_ONCE);
    yield jsonFrame(FRAME.runs, part);
  }
  yield frame(FRAME.end, new Uint8Array());
}

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
    return invalid(`it cannot be read (${messageOf(error)})`);
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

/** Before the columns, of which those with the largest numbers come first: so each begins at a multiple of the size of its numbers. */
const COUNT_BYTES = 8;
/** Of each row: its own number, its time, the number of its request, its ids and its flags. */
const ROW_BYTES = 8 + 8 + 4 + 4 * ROW_WORDS + 2;
/** The last time that a date can have. */
const MAX_TIME_MS = 8.64e15;

/** Column after column, in the byte order of the machines that Node runs on, and the texts as JSON. */
const encodeRows = (
  { numbers, createdMs, flags, ids, requests, texts }: PackedRows,
  numberOf: (request: RowRequest) => number,
): Buffer => {
  const count = Buffer.alloc(COUNT_BYTES);
  count.writeUInt32LE(numbers.length);
  const columns = [numbers, createdMs, Uint32Array.from(requests, numberOf), ids, flags];
  const others = JSON.stringify([...texts]);
  return Buffer.concat([count, ...columns.map(bytesOf), Buffer.from(others)]);
};

/** The columns are in the memory of the content, which begins at a multiple of eight. @throws when they are none */
const decodeRows = (content: Buffer, requests: readonly RowRequest[]): PackedRows => {
  const count = content.length < COUNT_BYTES ? Infinity : content.readUInt32LE();
  if (count > PAGE_ROWS || content.length < COUNT_BYTES + count * ROW_BYTES)
    throw new Error('rows are cut off');
  const { buffer, byteOffset } = content;
  let from = COUNT_BYTES;
  const begin = (bytes: number): number => byteOffset + (from += bytes) - bytes;
  const numbers = new Float64Array(buffer, begin(8 * count), count);
  const createdMs = new Float64Array(buffer, begin(8 * count), count);
  const requestNumbers = new Uint32Array(buffer, begin(4 * count), count);
  const ids = new Uint32Array(buffer, begin(4 * ROW_WORDS * count), ROW_WORDS * count);
  const flags = new Uint16Array(buffer, begin(2 * count), count);
  const others = parsePlainJson(content.subarray(from).toString());
  if (!areTexts.Check(others)) throw new Error('the texts of rows do not match their schema');
  return {
    numbers: checked(numbers, (number) => Number.isSafeInteger(number) && number > 0),
    createdMs: checked(createdMs, (ms) => Number.isInteger(ms) && Math.abs(ms) <= MAX_TIME_MS),
    flags,
    ids,
    requests: Array.from(requestNumbers, (number) => requests[number] ?? unknownRequest(number)),
    // Checked right above; the schema knows no exact optional members.
    texts: new Map(others as [number, RowTexts][]),
  };
};

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array | Float64Array | Uint16Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const checked = (column: Float64Array, isValid: (value: number) => boolean): Float64Array => {
  for (const value of column) if (!isValid(value)) throw new Error(`a row has the value ${value}`);
  return column;
};

const unknownRequest = (number: number): never => {
  throw new Error(`a row has request ${number}, which is not there`);
};

/** What a frame of a snapshot holds. */
export const FRAME = { header: 1, requests: 2, rows: 3, runs: 4, end: 5 } as const;
type FrameType = (typeof FRAME)[keyof typeof FRAME];

export interface Frame {
  readonly type: number;
  readonly content: Buffer;
}

/** Its type, the length of its content and the checksum of both with the content. */
const PREFIX_BYTES = 9;
const CHECKED_BYTES = 5;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;
const MAX_JSON_BYTES = 64 * 1024 * 1024;

const frame = (type: FrameType, content: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt8(type, 0);
  prefix.writeUInt32LE(content.length, 1);
  prefix.writeUInt32LE(crc32(content, crc32(prefix.subarray(0, CHECKED_BYTES))), CHECKED_BYTES);
  return Buffer.concat([prefix, content]);
};

/** Compressed, unlike columns, which hold little but random ids. */
export const jsonFrame = (type: FrameType, value: unknown): Buffer =>
  frame(type, gzipSync(JSON.stringify(value), { level: 1 }));

/** The value of such a frame. @throws when it cannot be decompressed */
const jsonOf = (content: Uint8Array): unknown =>
  parsePlainJson(gunzipSync(content, { maxOutputLength: MAX_JSON_BYTES }).toString());

/** Yields each frame, with content in a buffer of its own. @throws when one is damaged, and what reading the bytes throws */
export async function* framesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  /** Undefined until the whole prefix is read. */
  let content: Buffer | undefined;
  /** Of what is being read: the prefix or the content. */
  let length = 0;
  for await (const piece of bytes) {
    for (let from = 0; ;) {
      const target = content ?? prefix;
      const part = piece.subarray(from, from + target.length - length);
      target.set(part, length);
      from += part.length;
      length += part.length;
      if (length < target.length) break;
      length = 0;
      if (content) yield checkedFrame(prefix, content);
      content = content ? undefined : Buffer.allocUnsafeSlow(contentBytes(prefix));
    }
  }
  if (content || length > 0) throw new Error('it is cut off');
}

const contentBytes = (prefix: Buffer): number => {
  const bytes = prefix.readUInt32LE(1);
  if (bytes > MAX_CONTENT_BYTES)
    throw new Error(`a part has ${bytes} bytes, and at most ${MAX_CONTENT_BYTES} are possible`);
  return bytes;
};

const checkedFrame = (prefix: Buffer, content: Buffer): Frame => {
  const checksum = crc32(content, crc32(prefix.subarray(0, CHECKED_BYTES)));
  if (checksum !== prefix.readUInt32LE(CHECKED_BYTES)) throw new Error('a part is damaged');
  return { type: prefix.readUInt8(0), content };
};

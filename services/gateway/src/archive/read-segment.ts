import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { merkleRoot, type Hash } from '@runledger/event-log/read/merkle';
import { Type } from 'typebox';
import { HEADER, type Frame, type PackedSegment } from './pack-segment.ts';
import { DamagedSegment, leafOfLine, parseLine, runIdOf, type SegmentLine } from './segment-line.ts';

/** Reads bytes of the object of a segment. */
export type ReadSpan = (span: { readonly offset: number; readonly bytes: number }) => Promise<Buffer>;

/** What a record says of its object. */
export type KnownSegment = Pick<PackedSegment, 'index_bytes' | 'index_sha256' | 'root' | 'messages'> & {
  /** Of the whole object. */
  readonly bytes: number;
};

const decompress = promisify(zstdDecompress);
/** A frame has at most a line more than 256 KiB, and a line at most 32 KiB of bytes, which JSON may write as six each. */
const MOST_OF_FRAME = 1024 ** 2;
/** The largest segment has some thousand frames. */
const MOST_OF_INDEX = 16 * 1024 ** 2;

const Frames = compiledSchema(
  Type.Array(
    Type.Object({
      first_run: Type.String(),
      last_run: Type.String(),
      offset: Type.Integer({ minimum: 0 }),
      bytes: Type.Integer({ minimum: 1 }),
      sha256: Type.String(),
    }),
  ),
);

/** Which frames it has. @throws {DamagedSegment} */
export const readIndex = async (
  { bytes, index_bytes, index_sha256 }: KnownSegment,
  read: ReadSpan,
): Promise<readonly Frame[]> => {
  const packed = await read({ offset: bytes - index_bytes, bytes: index_bytes });
  checkHash(packed, index_sha256, 'The index of a segment');
  const frames: unknown = JSON.parse(await unpack(packed, MOST_OF_INDEX));
  if (!Frames.Check(frames)) throw new DamagedSegment('The index of a segment is none.');
  return frames;
};

/** The lines of one run, in the order of the log. @throws {DamagedSegment} */
export const readRunLines = async (
  frames: readonly Frame[],
  read: ReadSpan,
  run_id: string,
): Promise<SegmentLine[]> => {
  const wanted = frames.filter(({ first_run, last_run }) => first_run <= run_id && run_id <= last_run);
  const lines = await readFrames(wanted, read);
  return lines.filter((line) => runIdOf(line) === run_id);
};

/** Frames that lie behind each other, in one read. @throws {DamagedSegment} */
export const readFrames = async (frames: readonly Frame[], read: ReadSpan): Promise<SegmentLine[]> => {
  const [first, last] = [frames[0], frames.at(-1)];
  if (!first || !last) return [];
  const span = { offset: first.offset, bytes: last.offset + last.bytes - first.offset };
  const packed = await read(span);
  const lines: SegmentLine[] = [];
  for (const { offset, bytes, sha256 } of frames) {
    const frame = packed.subarray(offset - first.offset, offset - first.offset + bytes);
    checkHash(frame, sha256, 'A frame of a segment');
    const text = await unpack(frame, MOST_OF_FRAME);
    for (const line of text.split('\n')) if (line !== '') lines.push(parseLine(line));
  }
  return lines;
};

/** All lines, when header, index, frames, number and Merkle root are what the record says. @throws {DamagedSegment} */
export const readWholeSegment = async (known: KnownSegment, read: ReadSpan): Promise<SegmentLine[]> => {
  const header = await read({ offset: 0, bytes: HEADER.length });
  if (!header.equals(HEADER)) throw new DamagedSegment('It does not begin as a segment.');
  const frames = await readIndex(known, read);
  const lines: SegmentLine[] = [];
  for (const frame of frames) for (const line of await readFrames([frame], read)) lines.push(line);
  if (lines.length !== known.messages)
    throw new DamagedSegment(`It has ${lines.length} messages, and its record says ${known.messages}.`);
  if (merkleRoot(lines.map(leafOfLine)) !== known.root)
    throw new DamagedSegment('Its messages have another Merkle root than its record says.');
  return lines;
};

const checkHash = (bytes: Buffer, expected: Hash, what: string): void => {
  if (hash('sha256', bytes, 'base64url') === expected) return;
  throw new DamagedSegment(`${what} has other bytes than were written.`);
};

const unpack = async (packed: Buffer, most: number): Promise<string> => {
  try {
    return (await decompress(packed, { maxOutputLength: most })).toString('utf8');
  } catch (error) {
    throw new DamagedSegment('A part of a segment cannot be decompressed.', { cause: error });
  }
};

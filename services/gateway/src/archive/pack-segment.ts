import { hash, createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { merkleRoot, type Hash } from '@runledger/event-log/read/merkle';
import { leafOfLine, runIdOf, type SegmentLine } from './segment-line.ts';

/** Where lines of these runs are: the first and the last one, and the bytes of the frame. */
export interface Frame {
  readonly first_run: string;
  readonly last_run: string;
  readonly offset: number;
  readonly bytes: number;
  /** Of its bytes, in base64url. */
  readonly sha256: Hash;
}

export interface PackedSegment {
  /** The whole object. */
  readonly bytes: Buffer;
  /** The index of frames, compressed, is the end of the object. */
  readonly index_bytes: number;
  readonly index_sha256: Hash;
  /** Of the whole object, in hexadecimal, as stores say it. */
  readonly sha256: string;
  readonly root: Hash;
  readonly messages: number;
  readonly runs: number;
  readonly run_filter: string;
}

/** At the beginning of every segment: what it is, and in which version. */
export const HEADER = Buffer.from('runledger segment 1\n');

/** Bytes of lines in a frame, before it is compressed: what a read of one run decompresses. One more line may be in it. */
const FRAME_BYTES = 256 * 1024;

const compress = promisify(zstdCompress);
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 9 } };

/** By run, and the messages of a run in the order of the log. */
export const inOrderOfSegment = (lines: readonly SegmentLine[]): SegmentLine[] =>
  lines
    .map((line) => ({ line, run: runIdOf(line) }))
    .toSorted((a, b) => (a.run < b.run ? -1 : a.run > b.run ? 1 : a.line.sequence - b.line.sequence))
    .map(({ line }) => line);

/** The object of a segment with these lines, which are in its order. */
export const packSegment = async (lines: readonly SegmentLine[]): Promise<PackedSegment> => {
  const parts: Buffer[] = [HEADER];
  const frames: Frame[] = [];
  let offset = HEADER.length;
  for (const { first_run, last_run, text } of framesOf(lines)) {
    const bytes = await compress(text, LEVEL);
    parts.push(bytes);
    frames.push({
      first_run,
      last_run,
      offset,
      bytes: bytes.length,
      sha256: hash('sha256', bytes, 'base64url'),
    });
    offset += bytes.length;
  }
  const index = await compress(JSON.stringify(frames), LEVEL);
  const bytes = Buffer.concat([...parts, index]);
  const runs = new Set(lines.map(runIdOf));
  return {
    bytes,
    index_bytes: index.length,
    index_sha256: hash('sha256', index, 'base64url'),
    sha256: hash('sha256', bytes, 'hex'),
    root: merkleRoot(lines.map(leafOfLine)),
    messages: lines.length,
    runs: runs.size,
    run_filter: runFilter(runs),
  };
};

function* framesOf(
  lines: readonly SegmentLine[],
): Generator<Pick<Frame, 'first_run' | 'last_run'> & { readonly text: string }> {
  let texts: string[] = [];
  let [bytes, first] = [0, ''];
  for (const [at, line] of lines.entries()) {
    const run = runIdOf(line);
    if (texts.length === 0) first = run;
    const text = `${JSON.stringify(line)}\n`;
    texts.push(text);
    bytes += Buffer.byteLength(text);
    if (bytes < FRAME_BYTES && at < lines.length - 1) continue;
    yield { first_run: first, last_run: run, text: texts.join('') };
    [texts, bytes] = [[], 0];
  }
}

/** A Bloom filter: with 18 bits and 12 looks it says "perhaps" of an absent id once in six thousand times. */
const BITS_OF_RUN = 18;
const LOOKS = 12;

/** Says of a run id whether a segment may have it, in three characters for each run. In base64. */
export const runFilter = (ids: ReadonlySet<string>): string => {
  const bytes = Buffer.alloc(Math.max(Math.ceil((ids.size * BITS_OF_RUN) / 8), 1));
  for (const id of ids) {
    for (const bit of bitsOf(id, bytes.length * 8)) {
      bytes.writeUInt8(bytes.readUInt8(bit >> 3) | (1 << (bit & 7)), bit >> 3);
    }
  }
  return bytes.toString('base64');
};

/** False only when it has no such run. The filter is the bytes of that text. */
export const mayHaveRun = (filter: Buffer, id: string): boolean =>
  filter.length > 0 &&
  bitsOf(id, filter.length * 8).every((bit) => (filter.readUInt8(bit >> 3) & (1 << (bit & 7))) !== 0);

/**
 * Ids that are made of idempotency keys are in no order of time, and clients choose those keys: so ids are hashed. Two hashes make all
 * looks (Kirsch and Mitzenmacher, 2006).
 */
const bitsOf = (id: string, bits: number): number[] => {
  const hash = createHash('sha256').update(id).digest();
  const [one, other] = [hash.readUInt32BE(0), hash.readUInt32BE(4) | 1];
  return Array.from({ length: LOOKS }, (_, look) => (one + look * (other >>> 0)) % bits);
};

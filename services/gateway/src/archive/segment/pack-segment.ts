import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { merkleRoot, type Hash } from '@runledger/event-log/archive/merkle';
import { runFilter } from './run-filter.ts';
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

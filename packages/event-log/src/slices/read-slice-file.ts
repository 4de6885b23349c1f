import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { parseJson } from '@runledger/contracts/json';
import {
  parseSliceLine,
  SLICE_VERSION,
  type SliceFact,
  type SliceGap,
  type SliceHeader,
  type SliceLine,
} from '@runledger/contracts/slices/slice';

/** The file is no slice, is damaged, or is not whole. */
export class InvalidSlice extends Error {
  override readonly name = 'InvalidSlice';
}

/** A fact has at most a hundred KiB; a longer line is no line of a slice. */
const MAX_LINE = 4 * 1024 * 1024;

/** What the decompression says of a file that ends too early. */
const CUT_OFF = 'Z_BUF_ERROR';

/** The lines of a slice but its end: the header first. Facts were checked as lines, not as events. @throws {InvalidSlice} */
export async function* readSliceFile(path: string): AsyncGenerator<SliceHeader | SliceFact | SliceGap> {
  let [number, facts] = [0, 0];
  let end: SliceLine | undefined;
  for await (const text of linesOf(path)) {
    number += 1;
    const line = lineOf(path, text, number);
    if (end || (number === 1) !== (line.kind === 'header'))
      throw new InvalidSlice(
        `${path} is damaged: line ${number} is a ${line.kind}, which does not belong there.`,
      );
    if (line.kind === 'end') {
      end = line;
      if (line.facts !== facts)
        throw new InvalidSlice(
          `${path} is damaged: it says that it has ${line.facts} facts, and has ${facts}.`,
        );
    } else {
      if (line.kind === 'fact') facts += 1;
      yield line;
    }
  }
  if (!end) throw new InvalidSlice(`${path} is not whole: it ends after line ${number}. Capture it again.`);
}

const lineOf = (path: string, text: string, number: number): SliceLine => {
  const value = parseJson(text);
  const line = parseSliceLine(value);
  if (line) return line;
  if (
    number === 1 &&
    typeof value === 'object' &&
    value !== null &&
    'version' in value &&
    value.version !== SLICE_VERSION
  )
    throw new InvalidSlice(
      `${path} has format version ${String(value.version)}, and this release reads version ${SLICE_VERSION}. Use the release that captured it.`,
    );
  throw new InvalidSlice(`${path} is no slice of a log, or is damaged: line ${number} cannot be read.`);
};

async function* linesOf(path: string): AsyncGenerator<string> {
  const decompressed = createZstdDecompress();
  // An error of the file or of the compression ends the loop below with that error.
  pipeline(createReadStream(path), decompressed, () => undefined);
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of decompressed) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE)
        throw new InvalidSlice(`${path} is no slice of a log: it has a line without an end.`);
      yield* lines;
    }
  } catch (error) {
    if (error instanceof InvalidSlice) throw error;
    if (error instanceof Error && 'code' in error && error.code === CUT_OFF)
      throw new InvalidSlice(`${path} is not whole: its writer was stopped. Capture it again.`, {
        cause: error,
      });
    const why = error instanceof Error ? error.message : String(error);
    throw new InvalidSlice(`${path} cannot be read: ${why}.`, { cause: error });
  } finally {
    decompressed.destroy();
  }
  if (rest !== '')
    throw new InvalidSlice(`${path} is not whole: its last line has no end. Capture it again.`);
}

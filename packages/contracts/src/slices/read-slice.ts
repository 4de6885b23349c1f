import { parseJson } from '../json.ts';
import {
  parseSliceLine,
  SLICE_VERSION,
  type SliceFact,
  type SliceGap,
  type SliceHeader,
  type SliceLine,
} from './slice.ts';

/** The file is no slice, is damaged, or is not whole. */
export class InvalidSlice extends Error {
  override readonly name = 'InvalidSlice';
}

/** A fact has at most a hundred KiB; a longer line is no line of a slice. */
const MAX_LINE = 4 * 1024 * 1024;

/**
 * The lines of a slice but its end: the header first. Facts were checked as lines, not as events. `chunks` are its bytes, decompressed,
 * and `name` is what errors call it. @throws {InvalidSlice}
 */
export async function* readSlice(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<SliceHeader | SliceFact | SliceGap> {
  let [number, facts] = [0, 0];
  let end: SliceLine | undefined;
  for await (const text of linesOf(name, chunks)) {
    number += 1;
    const line = lineOf(name, text, number);
    if (end || (number === 1) !== (line.kind === 'header'))
      throw new InvalidSlice(
        `${name} is damaged: line ${number} is a ${line.kind}, which does not belong there.`,
      );
    if (line.kind === 'end') {
      end = line;
      if (line.facts !== facts)
        throw new InvalidSlice(
          `${name} is damaged: it says that it has ${line.facts} facts, and has ${facts}.`,
        );
    } else {
      if (line.kind === 'fact') facts += 1;
      yield line;
    }
  }
  if (!end) throw new InvalidSlice(`${name} is not whole: it ends after line ${number}. Capture it again.`);
}

const lineOf = (name: string, text: string, number: number): SliceLine => {
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
      `${name} has format version ${String(value.version)}, and this release reads version ${SLICE_VERSION}. Use the release that captured it.`,
    );
  throw new InvalidSlice(`${name} is no slice of a log, or is damaged: line ${number} cannot be read.`);
};

async function* linesOf(name: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of chunks) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE)
        throw new InvalidSlice(`${name} is no slice of a log: it has a line without an end.`);
      yield* lines;
    }
  } catch (error) {
    if (error instanceof InvalidSlice) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new InvalidSlice(`${name} cannot be read: ${why}.`, { cause: error });
  }
  if (rest !== '')
    throw new InvalidSlice(`${name} is not whole: its last line has no end. Capture it again.`);
}

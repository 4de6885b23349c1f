import {
  LOG_HEAD_CHUNKS,
  LOG_LINE_OVERHEAD,
  LOG_TAIL_CHUNKS,
  MAX_LOG_CHUNK_BYTES,
  MAX_LOG_LINE_BYTES,
  type LogChunk,
  type StoredLogLine,
} from '@runledger/contracts/run-logs';
import type { MaskText } from '@runledger/contracts/log-masks';
import { MIN_SECRET_LENGTH } from '@runledger/contracts/limits';
import type { LogLine } from '../runners/runner.ts';

/** The beginning and the end of an attempt's log, in bounded memory. Only what is read of it is masked. */
export interface LogBuffer {
  write(line: LogLine, at: number): void;
  /** How many lines were written. */
  lines(): number;
  /** And how many bytes, with line ends. */
  bytes(): number;
  /** How many chunks were begun. Only the last one still grows. */
  chunks(): number;
  /** The chunk with this number as it leaves the executor; undefined when it is no longer held. */
  chunk(number: number): LogChunk | undefined;
  /** The first chunk from this one on that is still held. */
  nextHeld(number: number): number;
}

interface HeldChunk {
  readonly first: number;
  readonly before: number;
  bytes: number;
  weight: number;
  /** Lines that were not read yet. They follow the ones that are shown. */
  raw: RawLine[];
  readonly shown: StoredLogLine[];
}

export const logBuffer = (mask: MaskText): LogBuffer => {
  const held = new Map<number, HeldChunk>();
  let chunks = 0;
  let lines = 0;
  let bytes = 0;

  const begin = (): HeldChunk => {
    const chunk = { first: lines, before: bytes, bytes: 0, weight: 0, raw: [], shown: [] };
    held.set(chunks, chunk);
    const dropped = chunks - LOG_TAIL_CHUNKS;
    if (dropped >= LOG_HEAD_CHUNKS) held.delete(dropped);
    chunks += 1;
    return chunk;
  };

  return {
    write: (line, at) => {
      const written = Buffer.byteLength(line.line);
      const weight = Math.min(written, MAX_LOG_LINE_BYTES) + LOG_LINE_OVERHEAD;
      const last = held.get(chunks - 1);
      const chunk = last && last.weight + weight <= MAX_LOG_CHUNK_BYTES ? last : begin();
      chunk.raw.push(rawLine(line, at));
      chunk.weight += weight;
      chunk.bytes += written + 1;
      bytes += written + 1;
      lines += 1;
    },
    lines: () => lines,
    bytes: () => bytes,
    chunks: () => chunks,
    chunk: (number) => {
      const chunk = held.get(number);
      if (!chunk) return undefined;
      chunk.shown.push(...chunk.raw.map((line) => printableLine(line, mask)));
      chunk.raw = [];
      return { first: chunk.first, before: chunk.before, bytes: chunk.bytes, lines: [...chunk.shown] };
    },
    nextHeld: (number) =>
      number < LOG_HEAD_CHUNKS ? number : Math.max(number, chunks - LOG_TAIL_CHUNKS, LOG_HEAD_CHUNKS),
  };
};

/** A line as it is held in memory. */
interface RawLine extends LogLine {
  /** When it was read, in milliseconds since 1970. */
  readonly at: number;
  /** Whether more of it was read than is held. */
  readonly cut: boolean;
}

/** Beyond what is shown of a line, so that a match which is cut there is masked. A longer secret is masked if it ends before. */
const MASKED_BEYOND = 1024;
const MAX_HELD = MAX_LOG_LINE_BYTES + MASKED_BEYOND;

/** What may be shown of a line, or is needed to mask it. A carriage return begins the line again, as in a terminal. */
export const rawLine = ({ stream, line }: LogLine, at: number): RawLine => {
  const text = line.slice(line.lastIndexOf('\r') + 1);
  const cut = text.length > MAX_HELD;
  // A copy: a slice would keep the whole line in memory.
  return { stream, at, cut, line: cut ? Buffer.from(text.slice(0, MAX_HELD)).toString('utf8') : text };
};

/** The line as it leaves the executor. */
export const printableLine = ({ stream, line, at, cut }: RawLine, mask: MaskText): StoredLogLine => {
  const text = mask(printable(line)).toWellFormed();
  const shown = firstBytes(text, MAX_LOG_LINE_BYTES);
  return [at, stream, shown, cut || shown.length < text.length];
};

/** No character is cut in two. */
const firstBytes = (text: string, limit: number): string => {
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return text;
  const bytes = Buffer.from(text);
  let end = limit;
  // The other bytes of a character begin with the bits 10.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
};

/** Without terminal colours and other control characters: people read the text in JSON, HTML or a terminal. */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are what is removed
  text.replaceAll(/\u001B\[[0-9;?]*[A-Za-z]/g, '').replaceAll(/[^\P{Cc}\n\t]/gu, '');

const MASK = '***';

/** Replaces these texts, each line of them, and their usual forms: in JSON, in a URL, and in base64. */
export const maskValues = (values: readonly string[]): MaskText => {
  const forms = values.flatMap((value) => [value, ...value.split(/\r?\n/)]).flatMap(formsOf);
  const long = forms.filter(({ length }) => length >= MIN_SECRET_LENGTH);
  // The longest first: one may be part of another.
  const hidden = [...new Set(long)].toSorted((a, b) => b.length - a.length);
  return (text) => hidden.reduce((rest, form) => rest.replaceAll(form, MASK), text);
};

const formsOf = (text: string): string[] => [
  text,
  JSON.stringify(text).slice(1, -1),
  encodeURIComponent(text.toWellFormed()),
  Buffer.from(text).toString('base64'),
  Buffer.from(text).toString('base64url'),
];

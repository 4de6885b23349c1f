import {
  LOG_HEAD_CHUNKS,
  LOG_LINE_OVERHEAD,
  LOG_TAIL_CHUNKS,
  MAX_LOG_CHUNK_BYTES,
  MAX_LOG_LINE_BYTES,
  type LogChunk,
  type StoredLogLine,
} from '@runledger/contracts/logs/log-chunk';
import type { MaskText } from '@runledger/contracts/logs/log-masks';
import type { LogLine } from '../../runner/runner.ts';
import { rawLine, shownLine, type RawLine } from './shown-line.ts';

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
      chunk.shown.push(...chunk.raw.map((line) => shownLine(line, mask)));
      chunk.raw = [];
      return { first: chunk.first, before: chunk.before, bytes: chunk.bytes, lines: [...chunk.shown] };
    },
    nextHeld: (number) =>
      number < LOG_HEAD_CHUNKS ? number : Math.max(number, chunks - LOG_TAIL_CHUNKS, LOG_HEAD_CHUNKS),
  };
};

import { MAX_LOG_LINE_BYTES, type StoredLogLine } from '@runledger/contracts/logs/log-chunk';
import type { MaskText } from '@runledger/contracts/logs/log-masks';
import type { LogLine } from '../../runner/runner.ts';
import { printable } from './printable.ts';

/** A line as it is held in memory. */
export interface RawLine extends LogLine {
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
export const shownLine = ({ stream, line, at, cut }: RawLine, mask: MaskText): StoredLogLine => {
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

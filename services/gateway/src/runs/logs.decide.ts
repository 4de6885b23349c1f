import type { RunLogItem } from '@runledger/contracts/http/runs/run-logs';
import type { LogChunk, StoredLogLine } from '@runledger/contracts/run-logs';

/** What is known of an attempt's log. */
export interface AttemptLines {
  /** In the order of their lines. */
  readonly chunks: readonly LogChunk[];
  /** What the attempt wrote in all, if that is known. */
  readonly written?: { readonly lines: number; readonly bytes: number };
  /** What a reader has to know about it. */
  readonly notice?: string | undefined;
}

/** Of milliseconds since 1970. */
export type IsoTime = (ms: number) => string;

export interface LogItem {
  readonly item: RunLogItem;
  /** After it. */
  readonly next: LogPosition;
}

/** The lines from a place on, and what is missing between them. A notice comes before the first line of the attempt. */
export function* logItems(
  { attempt, line: from }: LogPosition,
  { chunks, written, notice }: AttemptLines,
  isoTime: IsoTime,
): Generator<LogItem> {
  const itemAt = (item: RunLogItem, line: number): LogItem => ({ item, next: { attempt, line } });
  let line = from;
  let bytes = 0;
  let at = 0;
  const cutUpTo = (lines: number, before: number): LogItem[] => {
    if (lines <= line) return [];
    const cut = { lines: lines - line, bytes: Math.max(before - bytes, 0) };
    line = lines;
    return [itemAt({ at: isoTime(at), attempt, cut }, lines)];
  };
  if (notice !== undefined && from === 0) yield itemAt({ attempt, notice }, 0);
  for (const chunk of chunks) {
    const end = chunk.first + chunk.lines.length;
    if (end > line) {
      at = chunk.lines[Math.max(line - chunk.first, 0)]?.[0] ?? at;
      yield* cutUpTo(chunk.first, chunk.before);
      for (const stored of chunk.lines.slice(line - chunk.first)) {
        line += 1;
        at = stored[0];
        yield itemAt(lineOf(attempt, stored, isoTime(at)), line);
      }
    }
    bytes = Math.max(bytes, chunk.before + chunk.bytes);
  }
  if (written) yield* cutUpTo(written.lines, written.bytes);
}

const lineOf = (attempt: number, [, stream, line, truncated]: StoredLogLine, at: string): RunLogItem => ({
  at,
  attempt,
  stream,
  line,
  ...(truncated && { truncated }),
});

/** How many of these lines are known. */
export const countLines = ({ chunks }: AttemptLines): number =>
  chunks.reduce((sum, chunk) => sum + chunk.lines.length, 0);

/** The number of the first of the last lines that are known. */
export const lineFromEnd = ({ chunks }: AttemptLines, lines: number): number => {
  let left = lines;
  for (const chunk of chunks.toReversed()) {
    if (left <= chunk.lines.length) return chunk.first + chunk.lines.length - left;
    left -= chunk.lines.length;
  }
  return 0;
};

/** A place in the logs of a run: before this line of this attempt. */
export interface LogPosition {
  readonly attempt: number;
  /** Lines of the attempt before it. */
  readonly line: number;
}

export const LOG_POSITION_PATTERN = '^[1-9]\\d{0,5}-\\d{1,12}$';

export const LOG_BEGIN: LogPosition = { attempt: 1, line: 0 };

/** The id of an event after which this is the place. */
export const positionId = ({ attempt, line }: LogPosition): string => `${attempt}-${line}`;

/** @throws TypeError for text that does not match the pattern */
export const parsePosition = (id: string): LogPosition => {
  const [attempt, line] = id.split('-').map(Number);
  if (attempt === undefined || line === undefined) throw new TypeError(`"${id}" is not a position in a log`);
  return { attempt, line };
};

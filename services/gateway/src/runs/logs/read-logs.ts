import type { Run } from '@runledger/contracts/fold/run';
import { isoTime, loggedAttempts, type ReadAttemptLog, type RunAttemptLog } from './attempt-logs.ts';
import { countLines, lineFromEnd, logItems, type ShownItem } from './core/log-items.ts';
import { LOG_BEGIN, type LogPosition } from './core/log-position.ts';

/** Which part of a run's logs is read. */
export interface LogSelection {
  /** Undefined for all attempts. */
  readonly attempt: number | undefined;
  /** The number of last lines; undefined for all lines. */
  readonly tail: number | undefined;
}

export const selectedAttempts = (
  run: Run,
  { attempt }: Pick<LogSelection, 'attempt'>,
): readonly RunAttemptLog[] =>
  loggedAttempts(run).filter((logged) => attempt === undefined || logged.attempt === attempt);

/** Where to begin. @throws {LogUnavailable} */
export const beginOf = async (
  read: ReadAttemptLog,
  run: Run,
  selection: LogSelection,
): Promise<LogPosition> => {
  if (selection.tail === undefined) return LOG_BEGIN;
  let left = selection.tail;
  for (const logged of selectedAttempts(run, selection).toReversed()) {
    const lines = await read(run, logged);
    const known = countLines(lines);
    if (known >= left) return { attempt: logged.attempt, line: lineFromEnd(lines, left) };
    left -= known;
  }
  return LOG_BEGIN;
};

/** The log from a place on. At most one attempt's log is in memory. @throws {LogUnavailable} */
export async function* readLogs(
  read: ReadAttemptLog,
  run: Run,
  selection: LogSelection,
  from: LogPosition,
): AsyncGenerator<ShownItem> {
  for (const logged of selectedAttempts(run, selection)) {
    if (logged.attempt < from.attempt) continue;
    const line = logged.attempt === from.attempt ? from.line : 0;
    yield* logItems({ attempt: logged.attempt, line }, await read(run, logged), isoTime);
  }
}

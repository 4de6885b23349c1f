import { isEnded, type Run } from '@runledger/contracts/fold/run';
import type { LoggedAttempt } from '@runledger/contracts/run-logs';
import type { Kit } from '../kit.ts';
import { readLog } from '@runledger/event-log/streams/logs';
import { readStoredLogs, type FoundLogs } from '../files/stored-logs.ts';
import type { ReadCurrentRun } from './facts/current-run.ts';
import {
  countLines,
  lineFromEnd,
  logItems,
  LOG_BEGIN,
  type AttemptLines,
  type IsoTime,
  type LogItem,
  type LogPosition,
} from './logs.decide.ts';

interface RunAttemptLog extends LoggedAttempt {
  /** Whether the attempt is over: a reader waits for nothing more of it. */
  readonly isOver: boolean;
}

/** The attempts of a run whose logs may be shown, the first one first. */
export const loggedAttempts = (run: Run): RunAttemptLog[] => {
  const { org_id, run_id, attempt: last } = run;
  const earlier = run.earlier_attempts.map(({ number, executor_id }) => ({
    org_id,
    run_id,
    attempt: number,
    executor_id,
    isOver: true,
  }));
  if (!last || earlier.at(-1)?.attempt === last.number) return earlier;
  const { number: attempt, executor_id } = last;
  return [...earlier, { org_id, run_id, attempt, executor_id, isOver: isEnded(run) }];
};

/** @throws {LogUnavailable} */
export type ReadAttemptLog = (run: Run, of: RunAttemptLog) => Promise<AttemptLines>;

/** The log of an attempt: as it is kept with the run, or as the brokers still have it. */
export const attemptLogs =
  ({ log, stores: { blobs } }: Kit, current: ReadCurrentRun): ReadAttemptLog =>
  async (run, of) => {
    const kept = await readStoredLogs(blobs, run);
    const known = keptOf(kept, of);
    if (known) return known;
    const { chunks, isCleared } = await readLog(log, of);
    if (!isCleared) return { chunks, ...(isEnded(run) && { notice: noticeOf(kept, chunks.length > 0) }) };
    // The attempt has ended since the run was read.
    const found = await current(of);
    const moved = found.kind === 'found' ? await readStoredLogs(blobs, found.run) : kept;
    return keptOf(moved, of) ?? { chunks: [], notice: noticeOf(moved, false) };
  };

const keptOf = (found: FoundLogs, of: LoggedAttempt): AttemptLines | undefined => {
  const log =
    found.kind === 'found' ? found.logs.attempts.find(({ attempt }) => attempt === of.attempt) : undefined;
  return log && { chunks: log.chunks, written: log };
};

const NOT_KEPT =
  'The log of this attempt is not kept with the run: the attempt was ended from outside, such as by the loss of its executor, ' +
  'or there was no room for it, or no gateway could be reached. It is shown as long as the brokers still have it.';

/** Undefined for an attempt that wrote nothing. */
const noticeOf = ({ kind }: FoundLogs, isVisible: boolean): string | undefined => {
  if (kind === 'gone') return 'The logs of this run have expired.';
  if (kind === 'damaged') return 'The logs of this run are damaged in the store.';
  return isVisible ? NOT_KEPT : undefined;
};

export const isoTime: IsoTime = (ms) => new Date(ms).toISOString();

/** Of all attempts when `attempt` is undefined. */
export const selectedAttempts = (run: Run, attempt: number | undefined): readonly RunAttemptLog[] =>
  loggedAttempts(run).filter((logged) => attempt === undefined || logged.attempt === attempt);

/** Where the last `tail` lines begin; the beginning when it is undefined. @throws {LogUnavailable} */
export const beginOf = async (
  read: ReadAttemptLog,
  run: Run,
  attempt: number | undefined,
  tail: number | undefined,
): Promise<LogPosition> => {
  let left = tail ?? Infinity;
  const attempts = tail === undefined ? [] : selectedAttempts(run, attempt).toReversed();
  for (const logged of attempts) {
    const lines = await read(run, logged);
    const known = countLines(lines);
    if (known >= left) return { attempt: logged.attempt, line: lineFromEnd(lines, left) };
    left -= known;
  }
  return LOG_BEGIN;
};

/** The logs from a position on. At most one attempt's log is in memory. @throws {LogUnavailable} */
export async function* readLogs(
  read: ReadAttemptLog,
  run: Run,
  attempt: number | undefined,
  from: LogPosition,
): AsyncGenerator<LogItem> {
  for (const logged of selectedAttempts(run, attempt)) {
    if (logged.attempt < from.attempt) continue;
    const line = logged.attempt === from.attempt ? from.line : 0;
    yield* logItems({ attempt: logged.attempt, line }, await read(run, logged), isoTime);
  }
}

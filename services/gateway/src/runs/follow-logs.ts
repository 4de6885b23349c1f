import type { ServerResponse } from 'node:http';
import { isEnded } from '@runledger/contracts/fold/run';
import type { LoggedAttempt } from '@runledger/contracts/run-logs';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { subscribeToLogs } from '@runledger/event-log/streams/logs';
import { sleep } from '@runledger/resilience/abort';
import type { RunLogEnd } from '@runledger/contracts/http/runs/run-logs';
import type { StreamHolder } from '../records/quotas/quotas.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { eventFrame, frameWriter, type FrameWriter } from './server-sent-events.ts';
import { selectedAttempts, isoTime } from './attempt-logs.ts';
import { logItems, positionId, type LogPosition, type AttemptLines, type LogItem } from './logs.decide.ts';

interface FollowedLogs {
  /** Its status and headers are set. */
  readonly res: ServerResponse;
  readonly key: RunKey;
  readonly holder: StreamHolder;
  readonly from: LogPosition;
  /** The only attempt that is wanted; undefined for all. */
  readonly attempt: number | undefined;
  readonly onClosed: () => void;
}

/** After a read of stored logs, before the next one: what is missed meanwhile is read together. */
const READ_EVERY_MS = 200;
const RETRY_AFTER_MS = 1_000;

/**
 * Sends the logs of a run to a client until there is nothing more to come. What is stored is read from the client's position on, and
 * what is stored next continues there; whatever is missed, or the client is too slow for, is read again. So nothing is kept for it.
 */
export const followLogs = (kit: Kit, runs: Runs, followed: FollowedLogs): FrameWriter => {
  const { res, key, attempt } = followed;
  const closed = new AbortController();
  let position = followed.from;
  /** The attempt of which the client has all that was stored when it was read last. */
  let live: LoggedAttempt | undefined;
  /** Whether something has changed since the stored logs were read last. */
  let hasChanged = true;
  let changed = Promise.withResolvers<void>();
  const readAgain = (): void => {
    hasChanged = true;
    changed.resolve();
  };

  /** Sends what is behind the position, until the client is full. False when there is more to send. */
  const send = (lines: AttemptLines): boolean => {
    for (const item of logItems(position, lines, isoTime)) {
      if (frames.isFull() || frames.isEnded()) return false;
      frames.write(itemFrame(item));
      position = item.next;
    }
    return true;
  };
  /** Sends what is stored, and the end when there is nothing more to come. */
  const readStored = async (): Promise<void> => {
    const found = await runs.current(key);
    if (found.kind !== 'found') return frames.end('the run was deleted', 'as usual');
    const { run } = found;
    const wanted = selectedAttempts(run, attempt);
    for (const logged of wanted) {
      if (logged.attempt < position.attempt) continue;
      if (logged.attempt > position.attempt) position = { attempt: logged.attempt, line: 0 };
      if (!send(await runs.attemptLog(run, logged))) return readAgain();
      live = logged;
    }
    const isOver = isEnded(run) || (attempt !== undefined && wanted.some((logged) => logged.isOver));
    const end: RunLogEnd = { status: run.status };
    if (isOver && !frames.isEnded()) res.end(eventFrame('end', JSON.stringify(end), positionId(position)));
  };
  /** Resolves when there is something to read, and the client takes it. */
  const nextChange = async (): Promise<void> => {
    const canRead = (): boolean => hasChanged && !frames.isFull();
    while (!canRead() && !frames.isEnded() && !closed.signal.aborted) {
      await changed.promise;
      changed = Promise.withResolvers();
    }
    await sleep(READ_EVERY_MS, closed.signal);
  };
  const readUntilClosed = async (): Promise<void> => {
    while (!closed.signal.aborted && !frames.isEnded()) {
      try {
        hasChanged = false;
        await readStored();
        await nextChange();
      } catch (err) {
        kit.logger.warn({ err, run_id: key.run_id }, 'the logs of a run could not be read; trying again');
        await sleep(RETRY_AFTER_MS, closed.signal);
      }
    }
  };

  const subscription = runs.subscriptions.subscribe(key, followed.holder, {
    onFacts: readAgain,
    onProgress: () => undefined,
    onOver: (why) => frames.end(why, 'soon'),
  });
  const unsubscribe = subscribeToLogs(kit.log, key, (of, chunk) => {
    const continues =
      live?.attempt === of.attempt && live.executor_id === of.executor_id && chunk.first <= position.line;
    if (hasChanged || !continues || !send({ chunks: [chunk] })) readAgain();
  });
  // Parts may have been missed.
  const removeListener = kit.log.onReconnect(readAgain);
  const frames = frameWriter(res, readAgain, () => {
    closed.abort();
    readAgain();
    subscription[Symbol.dispose]();
    unsubscribe();
    removeListener();
    followed.onClosed();
  });
  void readUntilClosed();
  return frames;
};

/** A line, a cut or a notice as a server-sent event. A notice has no position of its own. */
const itemFrame = ({ item, next }: LogItem): string => {
  const data = JSON.stringify(item);
  if ('notice' in item) return eventFrame('notice', data);
  return eventFrame('line' in item ? 'line' : 'cut', data, positionId(next));
};

import type { ServerResponse } from 'node:http';
import { isEnded } from '@runledger/contracts/fold/run';
import type { LogChunk, LoggedAttempt } from '@runledger/contracts/run-logs';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { subscribeToLogs } from '@runledger/event-log/streams/logs';
import { sleep } from '@runledger/resilience/abort';
import type { RunLogEnd, RunLogItem } from '@runledger/contracts/http/runs/run-logs';
import type { StreamHolder } from '../records/quotas/quotas.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { frameWriter, type FrameWriter } from './events.ts';
import { selectedAttempts, isoTime } from './attempt-logs.ts';
import { logItems, positionId, type LogPosition, type AttemptLines, type ShownItem } from './logs.decide.ts';

type OnChunk = (of: LoggedAttempt, chunk: LogChunk) => void;

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
 * Sends the logs of a run to a client until there is nothing more to come. What is stored is read from the client's place on, and
 * what is stored next continues there; whatever is missed, or the client is too slow for, is read again. So nothing is kept for it.
 */
export const followLogs = (kit: Kit, runs: Runs, followed: FollowedLogs): FrameWriter => {
  const { res, key, from } = followed;
  const closed = new AbortController();
  const news = openNews();
  const sender = logSender(() => frames, from);
  const onChunk: OnChunk = (of, chunk) => {
    const continues = sender.continuedBy(of, chunk) && !news.isThere();
    if (!continues || !sender.send({ chunks: [chunk] })) news.tell();
  };
  const subscription = runs.subscriptions.subscribe(key, followed.holder, {
    onFacts: news.tell,
    onProgress: () => undefined,
    onOver: (why) => frames.end(why, 'soon'),
  });
  const unsubscribe = subscribeToLogs(kit.log, key, onChunk);
  // Parts may have been missed.
  const removeListener = kit.log.onReconnect(news.tell);
  const frames = frameWriter(res, news.tell, () => {
    closed.abort();
    news.tell();
    subscription[Symbol.dispose]();
    unsubscribe();
    removeListener();
    followed.onClosed();
  });
  void readUntilClosed(kit, runs, { followed, frames, sender, news, closed: closed.signal });
  return frames;
};

interface Reading {
  readonly followed: FollowedLogs;
  readonly frames: FrameWriter;
  readonly sender: LogSender;
  readonly news: News;
  readonly closed: AbortSignal;
}

const readUntilClosed = async (kit: Kit, runs: Runs, reading: Reading): Promise<void> => {
  const { followed, closed, frames, news } = reading;
  while (!closed.aborted && !frames.isEnded()) {
    try {
      news.take();
      await readOn(runs, reading);
      await nextNews(reading);
    } catch (err) {
      const { run_id } = followed.key;
      kit.logger.warn({ err, run_id }, 'the logs of a run could not be read; trying again');
      await sleep(RETRY_AFTER_MS, closed);
    }
  }
};

/** Sends what is stored, and the end when there is nothing more to come. */
const readOn = async (
  { current, attemptLog: read }: Runs,
  { followed: { key, attempt, res }, frames, sender, news }: Reading,
): Promise<void> => {
  const found = await current(key);
  if (found.kind !== 'found') return frames.end('the run was deleted', 'as usual');
  const { run } = found;
  const wanted = selectedAttempts(run, attempt);
  for (const logged of wanted) {
    if (logged.attempt < sender.place().attempt) continue;
    sender.begin(logged.attempt);
    if (!sender.send(await read(run, logged))) return news.tell();
    sender.keepUp(logged);
  }
  const isOver = isEnded(run) || (attempt !== undefined && wanted.some((logged) => logged.isOver));
  if (isOver && !frames.isEnded()) res.end(logEndFrame(sender.place(), { status: run.status }));
};

/** Resolves when there is something to read, and the client takes it. */
const nextNews = async ({ frames, news, closed }: Reading): Promise<void> => {
  while ((frames.isFull() || !news.isThere()) && !frames.isEnded() && !closed.aborted) await news.told();
  await sleep(READ_EVERY_MS, closed);
};

/** Sends lines to a client, and knows which place it has reached. */
interface LogSender {
  readonly place: () => LogPosition;
  /** Goes on with this attempt, unless the client is there already. */
  begin(attempt: number): void;
  /** Sends what is behind the place, until the client is full. False when there is more to send. */
  send(lines: AttemptLines): boolean;
  /** The client has all that is stored of this attempt. */
  keepUp(of: LoggedAttempt): void;
  /** Whether a part that was stored just now continues where the client is. */
  continuedBy(of: LoggedAttempt, chunk: LogChunk): boolean;
}

const logSender = (frames: () => FrameWriter, from: LogPosition): LogSender => {
  let place = from;
  let live: LoggedAttempt | undefined;
  return {
    place: () => place,
    begin: (attempt) => {
      if (attempt > place.attempt) place = { attempt, line: 0 };
    },
    send: (lines) => {
      const { write, isFull, isEnded } = frames();
      for (const shown of logItems(place, lines, isoTime)) {
        if (isFull() || isEnded()) return false;
        write(itemFrame(shown));
        place = shown.next;
      }
      return true;
    },
    keepUp: (of) => {
      live = of;
    },
    continuedBy: (of, { first }) =>
      live?.attempt === of.attempt && live.executor_id === of.executor_id && first <= place.line,
  };
};

/** That something has changed, for a reader that looks at everything when it has. */
interface News {
  readonly isThere: () => boolean;
  readonly tell: () => void;
  /** The reader looks now: only what changes from now on is news. */
  readonly take: () => void;
  /** Resolves when it is told, also if that was before. */
  readonly told: () => Promise<void>;
}

const openNews = (): News => {
  let isThere = true;
  let bell = Promise.withResolvers<void>();
  return {
    isThere: () => isThere,
    tell: () => {
      isThere = true;
      bell.resolve();
    },
    take: () => {
      isThere = false;
    },
    told: async () => {
      await bell.promise;
      bell = Promise.withResolvers();
    },
  };
};

/** A line, a cut or a notice as a server-sent event. */
const itemFrame = ({ item, next }: ShownItem): string =>
  // A notice has no place of its own.
  'notice' in item
    ? eventFrame('notice', item)
    : `id: ${positionId(next)}\n${eventFrame(kindOf(item), item)}`;

const logEndFrame = (position: LogPosition, end: RunLogEnd): string =>
  `id: ${positionId(position)}\n${eventFrame('end', end)}`;

const kindOf = (item: RunLogItem): 'line' | 'cut' => ('line' in item ? 'line' : 'cut');

const eventFrame = (event: string, data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

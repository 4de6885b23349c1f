import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { newerVersionOf, newerVersionOfExecutor } from '@runledger/event-log/read/newer-version';
import { ALL_LIFECYCLES, ALL_REDELIVERY_REQUESTS } from '@runledger/contracts/events/subjects';
import { ALL_PROGRESS } from '@runledger/contracts/events/progress';
import { follow, NewerVersion, PositionBeyondEnd, type Following } from '@runledger/event-log/follow/follow';
import { sleep } from '@runledger/resilience/abort';
import type { NotifierInput } from './core/inputs-and-effects.ts';
import { progressNotice, runNotice, type RunNotice, type WebhookTargets } from './webhook-targets.ts';

interface SubscriptionOptions {
  readonly log: EventLog;
  readonly targets: WebhookTargets;
  readonly handle: (input: NotifierInput) => void;
  /** Up to where a partition has taken a stream; undefined for one that is not held. */
  readonly consumedUpTo: (partition: number, stream: Stream) => number | undefined;
}

/** Reads what happens to the runs whose webhooks belong to the partitions of this process. */
export interface Subscription extends AsyncDisposable {
  add(partition: number): void;
  remove(partition: number): void;
  state(): ReadState;
}

type Batch = readonly StoredMessage[];

export const openSubscription = (options: SubscriptionOptions): Subscription => {
  const { log, handle, consumedUpTo } = options;
  const stop = new AbortController();
  const open = (stream: Stream, noticesOf: (messages: Batch) => Noticed[]) =>
    openStreamReader(
      {
        log,
        stream,
        consumedUpTo: (partition) => consumedUpTo(partition, stream),
        onBatch: async (messages, partitions) => {
          await takeAll(options, stream, noticesOf(messages), partitions);
          const sequence = messages.at(-1)?.sequence;
          if (sequence !== undefined) handle({ type: 'read_up_to', stream, sequence, partitions });
        },
        onShortened: (lastSequence) => {
          log.logger.error({ stream, lastSequence }, 'the log is shorter than it was; it is read again');
          handle({ type: 'log_shortened', stream, lastSequence });
        },
      },
      stop.signal,
    );
  const readers = [open('runs', runNotices), open('activity', progressNotices)];
  return {
    add: (partition) => readers.forEach((reader) => reader.add(partition)),
    remove: (partition) => readers.forEach((reader) => reader.remove(partition)),
    state: () => readers.map((reader) => reader.state()).find(({ ok }) => !ok) ?? { ok: true },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(readers.map(({ over }) => over));
    },
  };
};

/** Progress has a sequence of another stream. */
const handedOfRuns = ({ type }: RunNotice, { sequence }: StoredMessage): number =>
  type === 'progress_reported' ? 0 : sequence;

interface Noticed {
  readonly message: StoredMessage;
  readonly notice: RunNotice | undefined;
}

const runNotices = (messages: Batch): Noticed[] =>
  messages.map((message) => ({ message, notice: runNotice(message) }));

const progressNotices = (messages: Batch): Noticed[] =>
  messages.map((message) => ({ message, notice: progressNotice(message) }));

/** @throws {NewerVersion} for a fact that only a later release can read, of a run with a webhook */
const takeAll = async (
  { log, targets, handle }: SubscriptionOptions,
  stream: Stream,
  noticed: readonly Noticed[],
  partitions: ReadonlySet<number>,
): Promise<void> => {
  for (const { notice } of noticed)
    if (notice && 'target' in notice && notice.target !== undefined)
      targets.note(notice.key.run_id, notice.target);
  // Unknown targets are looked up concurrently.
  const found = await Promise.all(
    noticed.map(async ({ message, notice }) =>
      notice ? targets.find(notice.key, handedOfRuns(notice, message)) : null,
    ),
  );
  const concerning = noticed.flatMap(({ message, notice }, at) => {
    const target = found[at];
    return notice && target ? { message, notice, target } : [];
  });
  // Most runs have no webhook, and nothing of theirs is decoded.
  for (const { message } of concerning) {
    const newer = newerVersionOf(SOURCES[stream].stream, message);
    if (newer) throw newer;
  }
  if (stream === 'runs') {
    const ofExecutors = await Promise.all(
      concerning.map(({ message }) => newerVersionOfExecutor(log, message)),
    );
    for (const newer of ofExecutors) if (newer) throw newer;
  }
  for (const { message, notice, target } of concerning) {
    const { origin, intermediate, oldestFactAt } = target;
    const partition = partitionOf(origin);
    const isIntermediate = notice.type === 'run_changed' || notice.type === 'progress_reported';
    if ((isIntermediate && !intermediate) || !partitions.has(partition)) continue;
    const { sequence } = message;
    const about = { partition, origin, sequence, time: Date.parse(message.time), oldestFactAt };
    handle({ ...notice, ...about });
  }
};

type Stream = 'runs' | 'activity';

export type ReadState = { readonly ok: true } | { readonly ok: false; readonly why: string };

interface ReaderOptions {
  readonly log: EventLog;
  readonly stream: Stream;
  /** Up to where a partition has taken everything; undefined for one that is not held. */
  readonly consumedUpTo: (partition: number) => number | undefined;
  readonly onBatch: (messages: readonly StoredMessage[], partitions: ReadonlySet<number>) => Promise<void>;
  /** The log ends before what was taken: it was restored from an older copy. */
  readonly onShortened: (lastSequence: number) => void;
}

/** Reads one stream for all partitions of this process, from the lowest of their positions. */
interface StreamReader {
  /** Starts reading again, since earlier messages would be missing otherwise. */
  add(partition: number): void;
  remove(partition: number): void;
  state(): ReadState;
  readonly over: Promise<void>;
}

const AGAIN_AFTER_MS = 1_000;
/** Partitions are assigned in groups, and each would start the reading again. */
const GATHER_MS = 50;

/** Receivers are told over HTTP, and notice no difference. Nearly all facts concern no webhook, so each alone is not worth a wake-up. */
const PAUSE_MS = 20;

/** What is followed of each stream. */
const SOURCES = {
  runs: { stream: 'RUNS', subjects: [ALL_LIFECYCLES, ALL_REDELIVERY_REQUESTS] },
  activity: { stream: 'ACTIVITY', subjects: [ALL_PROGRESS] },
} as const;

interface Reading extends ReaderOptions {
  readonly signal: AbortSignal;
  readonly partitions: Set<number>;
  /** Those that the present reading is for. */
  present: Set<number>;
  wake: PromiseWithResolvers<void>;
  following: Following | undefined;
  stopped: string | undefined;
}

const openStreamReader = (options: ReaderOptions, signal: AbortSignal): StreamReader => {
  const reading: Reading = {
    ...options,
    signal,
    partitions: new Set(),
    present: new Set(),
    wake: Promise.withResolvers(),
    following: undefined,
    stopped: undefined,
  };
  signal.addEventListener('abort', () => reading.wake.resolve(), { once: true });
  return {
    add: (partition) => {
      reading.partitions.add(partition);
      reading.wake.resolve();
    },
    remove: (partition) => {
      reading.partitions.delete(partition);
      reading.present.delete(partition);
    },
    state: () => {
      const { stopped, following } = reading;
      return stopped === undefined ? (following?.state() ?? { ok: true }) : { ok: false, why: stopped };
    },
    over: readForever(reading),
  };
};

const readForever = async (reading: Reading): Promise<void> => {
  const { log, stream, signal, onShortened } = reading;
  await reading.wake.promise;
  while (!signal.aborted) {
    try {
      await pause(GATHER_MS);
      reading.wake = Promise.withResolvers();
      if (!signal.aborted) await readUntilWoken(reading);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof NewerVersion) {
        reading.stopped = error.message;
        log.logger.error({ err: error }, 'the notifier has stopped reading');
        return;
      }
      log.logger.warn({ err: error, stream }, 'reading was interrupted; it begins again');
      if (error instanceof PositionBeyondEnd) onShortened(error.lastSequence);
      await sleep(AGAIN_AFTER_MS, signal);
    }
  }
};

const readUntilWoken = async (reading: Reading): Promise<void> => {
  const { log, stream, signal, consumedUpTo, onBatch, wake } = reading;
  if (signal.aborted) return;
  // A partition that is added later gets nothing of this reading: earlier messages would be missing.
  const present = new Set(reading.partitions);
  reading.present = present;
  const after = Math.min(...[...present].map((partition) => consumedUpTo(partition) ?? Infinity));
  if (!Number.isFinite(after)) return wake.promise;
  try {
    await using following = await follow(log, {
      ...SOURCES[stream],
      after,
      pauseMs: PAUSE_MS,
      onBatch: (messages) => onBatch(messages, present),
    });
    reading.following = following;
    const failure = await Promise.race([following.failed, wake.promise]);
    if (failure) throw failure;
  } finally {
    reading.following = undefined;
  }
};

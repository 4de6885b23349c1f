import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import {
  ALL_LIFECYCLES,
  ALL_PROGRESS,
  ALL_REDELIVERY_REQUESTS,
} from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, NewerVersion, PositionBeyondEnd, type Following } from '@runledger/event-log/follow/follow';
import { sleep } from '@runledger/resilience/abort';

export type Stream = 'runs' | 'activity';

export type ReadState = { readonly ok: true } | { readonly ok: false; readonly why: string };

export interface ReaderOptions {
  readonly log: EventLog;
  readonly stream: Stream;
  /** Up to where a partition has taken everything; undefined for one that is not held. */
  readonly takenUpTo: (partition: number) => number | undefined;
  readonly onBatch: (messages: readonly StoredMessage[], partitions: ReadonlySet<number>) => Promise<void>;
  /** The log ends before what was taken: it was restored from an older copy. */
  readonly onShortened: (lastSequence: number) => void;
}

/** Reads one stream for all partitions of this process, from the lowest of their positions. */
export interface StreamReader {
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
export const SOURCES = {
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

export const openStreamReader = (options: ReaderOptions, signal: AbortSignal): StreamReader => {
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
  const { log, stream, signal, takenUpTo, onBatch, wake } = reading;
  if (signal.aborted) return;
  // A partition that is added later gets nothing of this reading: earlier messages would be missing.
  const present = new Set(reading.partitions);
  reading.present = present;
  const after = Math.min(...[...present].map((partition) => takenUpTo(partition) ?? Infinity));
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

import type { OutputLists } from '@runledger/blob-store/output-lists';
import { isEnded, isExecuting, type RunFact } from '@runledger/contracts/fold/run';
import type { OutputUrl } from '@runledger/contracts/http/runs/run-response';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Kit } from '../kit.ts';
import { head as headOf, readRun } from '@runledger/event-log/read/read-run';
import { lastProgress, subscribeToProgress } from '@runledger/event-log/streams/activity';
import type { LimitFunction } from 'p-limit';
import { backoff } from '@runledger/resilience/backoff';
import { tailRuns } from '@runledger/event-log/follow/tail-runs';
import { sleep } from '@runledger/resilience/abort';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import type { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import type { ReadCurrentRun } from './facts/current-run.ts';
import { progressEvents, runEvents, type ProgressEvents, type RunEvents } from './run-events.ts';
import { runName } from '../views/stored-run.decide.ts';

/** One run, read once for all its subscribers. */
export interface LiveRun extends Pick<RunSubscription, 'facts' | 'progress'> {
  close(): void;
}

/** What live runs are read by, beside the log. */
export interface ReadsOfLiveRuns {
  readonly current: ReadCurrentRun;
  readonly lists: OutputLists;
  readonly outputUrl: OutputUrl;
}

/** What all live runs of a gateway share. */
interface SharedReads extends ReadsOfLiveRuns {
  readonly tail: RunStreamTail;
  /** Limits how many runs are read at once. */
  readonly limit: LimitFunction;
}

/** Begins at once, with the run's first fact. */
export const openLiveRun = (
  { log, logger, clock }: Kit,
  shared: SharedReads,
  key: RunKey,
  listener: SubscriptionListener,
): LiveRun => {
  const { tail, limit, outputUrl } = shared;
  const events = runEvents(outputUrl);
  const progress = progressEvents({ run: () => events.run(), onProgress: listener.onProgress, clock });
  let head = 0;

  const read = async (announced: number | undefined): Promise<number> => {
    const known = events.facts.length;
    const upTo = announced ?? (await headOf(log, key));
    const next =
      upTo === head && upTo > 0 ? { head, continues: true } : await readFacts(log, shared, key, events, upTo);
    ({ head } = next);
    if (next.continues && announced === undefined) await readProgress(log, key, events, progress);
    if (catchUp.isClosed()) return head;
    if (events.facts.length > known) {
      listener.onFacts();
      progress.emitLater();
    }
    if (!next.continues || events.facts.at(-1)?.finished === true) close();
    if (!next.continues) listener.onOver('the log does not continue the events that were sent');
    return head;
  };
  const close = (): void => {
    catchUp.close();
    progress.close();
    unlisten();
    unsubscribe();
  };

  const catchUp = startCatchUp(read, limit, (error) =>
    logger.warn({ err: error, run_id: key.run_id }, 'a live run could not be read; trying again'),
  );
  const unlisten = tail.listen(key, catchUp);
  const unsubscribe = subscribeToProgress(log, key, (attempt, executor, report) =>
    progress.report({ attempt, executor, report }),
  );
  return { facts: events.facts, progress: () => progress.latest(), close };
};

/** Resolves with the head that was read, and whether the facts continue the events that were emitted. */
const readFacts = async (
  log: EventLog,
  { current, lists }: ReadsOfLiveRuns,
  key: RunKey,
  events: RunEvents,
  upTo: number,
): Promise<{ readonly head: number; readonly continues: boolean }> => {
  /** The log begins with an expiry, of a run that had ended. */
  const hasEndedBefore = async ([first]: readonly RunFact[]): Promise<boolean> => {
    if (first?.event.type !== 'RunExpired' || events.facts.length > 0) return false;
    const now = await current(key);
    return now.kind === 'found' && isEnded(now.run) && now.run.end_reason !== 'log_expired';
  };
  const read = await readRun(log, key, { atLeast: upTo });
  if (read.kind === 'found' && !(await hasEndedBefore(read.facts))) {
    const loaded = await Promise.all(read.facts.map((fact) => lists.ofFact(fact)));
    const facts = loaded.map(({ fact }) => fact);
    const lost = loaded.flatMap(({ missing }) => missing);
    return { head: read.history.head, continues: events.add(facts, lost) };
  }
  // Its events have expired, and only the views or the archive know it.
  const viewed = await current(key);
  if (viewed.kind !== 'found') return { head: upTo, continues: false };
  const { run, missing } = await lists.ofRun(viewed.run);
  return { head: upTo, continues: events.addView({ ...viewed, run }, missing) };
};

const readProgress = async (
  log: EventLog,
  key: RunKey,
  events: RunEvents,
  progress: ProgressEvents,
): Promise<void> => {
  const run = events.run();
  if (!run || !isExecuting(run)) return;
  const { number: attempt, executor_id: executor } = run.attempt;
  const report = await lastProgress(log, key, attempt, executor);
  if (report) progress.report({ attempt, executor, report });
  progress.emitNow();
};

/**
 * Reads up to this sequence, or up to the end of the log when it is undefined. Resolves with the sequence of the last message that was
 * read.
 */
type ReadUpTo = (upTo: number | undefined) => Promise<number>;

interface TailListener {
  /** The run has a message at this sequence. */
  readonly onMessage: (sequence: number) => void;
  /** Messages may have been missed. */
  readonly onGap: () => void;
}

/** Reads until everything that is known to exist is read. */
interface CatchUp extends TailListener {
  readonly isClosed: () => boolean;
  readonly close: () => void;
}

const RETRY_DELAY_MS = { firstMs: 250, longestMs: 5_000 } as const;

/** One read at a time, and another one after a failure. Begins at once. */
const startCatchUp = (read: ReadUpTo, limit: LimitFunction, onError: (error: unknown) => void): CatchUp => {
  let readTo = 0;
  let announced = 0;
  /** Messages may exist that were not announced, so the next read goes to the end of the log. */
  let hasGap = true;
  let isClosed = false;
  let retry: NodeJS.Timeout | undefined;
  const delays = backoff(RETRY_DELAY_MS);

  const readOnce = async (): Promise<void> => {
    if (isClosed) return;
    const upTo = hasGap ? undefined : announced;
    const before = announced;
    hasGap = false;
    readTo = await read(upTo);
    // An announced message that cannot be read is lost: the log has lost its end.
    if (announced === before) announced = readTo;
  };
  const catchUp = oneAtATime(async (): Promise<void> => {
    clearTimeout(retry);
    if (isClosed || (!hasGap && announced <= readTo)) return;
    try {
      await limit(readOnce);
      delays.reset();
    } catch (error) {
      hasGap = true;
      onError(error);
      if (!isClosed) retry = setTimeout(() => void catchUp(), delays.next());
    }
  });

  void catchUp();
  return {
    onMessage: (sequence) => {
      announced = Math.max(announced, sequence);
      void catchUp();
    },
    onGap: () => {
      hasGap = true;
      void catchUp();
    },
    isClosed: () => isClosed,
    close: () => {
      isClosed = true;
      clearTimeout(retry);
    },
  };
};

/** Reports which runs have new messages. */
export interface RunStreamTail extends AsyncDisposable {
  /** Calls the listener until the returned function is called. A run has one listener. */
  listen(key: RunKey, listener: TailListener): () => void;
}

const RETRY_AFTER_MS = 1_000;
/** Requests that wait follow each other as a rule, and a consumer costs more than the messages of some seconds. */
const KEEP_FOR_MS = 10_000;

/** One reader of all lifecycles, for all listeners. It begins with the first listener, and ends some time after the last one. */
export const runStreamTail = ({ log, logger, clock }: Kit, keepForMs = KEEP_FOR_MS): RunStreamTail => {
  const listeners = new Map<string, TailListener>();
  const stop = new AbortController();
  let lastLeft = -Infinity;
  let running: Promise<void> | undefined;

  const isUsed = (): boolean => listeners.size > 0 || clock() - lastLeft < keepForMs;
  const unused = async (): Promise<void> => {
    while (isUsed() && !stop.signal.aborted) await sleep(keepForMs, stop.signal);
  };
  const run = async (): Promise<void> => {
    while (isUsed() && !stop.signal.aborted) {
      try {
        await using tail = await tailRuns(log, {
          onMessage: (key, sequence) => listeners.get(runName(key))?.onMessage(sequence),
          onGap: () => listeners.forEach(({ onGap }) => onGap()),
        });
        const failure = await Promise.race([tail.failed, unused()]);
        if (failure) throw failure;
      } catch (error) {
        logger.warn({ err: error }, 'the stream tail was interrupted; trying again');
        await sleep(RETRY_AFTER_MS, stop.signal);
      }
    }
    running = undefined;
  };
  return {
    listen: (key, listener) => {
      const name = runName(key);
      listeners.set(name, listener);
      running ??= run();
      return () => {
        if (listeners.get(name) === listener) listeners.delete(name);
        lastLeft = clock();
      };
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
};

/** What a subscriber sees of a run. Disposing it ends the subscription. */
export interface RunSubscription extends Disposable {
  /** In the order of the log; the last one is final when the run has ended. It only grows. */
  readonly facts: readonly RunFactEvent[];
  /** The last progress of the current attempt. */
  progress(): RunProgressEvent | undefined;
}

export interface SubscriptionListener {
  /** `facts` has grown. */
  readonly onFacts: () => void;
  /** `progress` has changed. */
  readonly onProgress: () => void;
  /** Nothing more comes. The subscriber may subscribe again. */
  readonly onOver: (why: string) => void;
}

/** Why no client can subscribe now: also when its organisation, or its key, has as many as it may. */
export type SubscriptionRefusal = 'too_many' | 'over_quota' | 'over_key_limit' | 'stopping';

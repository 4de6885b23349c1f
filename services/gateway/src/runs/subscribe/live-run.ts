import type { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { isExecuting } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { lastProgress, subscribeToProgress } from '@runledger/event-log/streams/activity';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { head as headOf, readRun } from '@runledger/event-log/read/read-run';
import type { ReadCurrentRun } from '../current/current-run.ts';
import type { RunStreamTail } from './run-stream-tail.ts';
import { runEvents } from './run-events.ts';
import { progressEvents } from './progress-events.ts';

export interface SubscriptionListener {
  /** `facts` has grown. */
  readonly onFacts: () => void;
  /** `progress` has changed. */
  readonly onProgress: () => void;
  /** Nothing more is told here: whoever wants to know more begins anew. */
  readonly onOver: (why: string) => void;
}

/** One run, for however many watch it: read once for all of them. */
export interface LiveRun {
  /** In the order of the log, the last one final when the run has ended. It only grows. */
  readonly facts: readonly RunFactEvent[];
  /** The last that was told of the attempt under way. */
  progress(): RunProgressEvent | undefined;
  close(): void;
}

/** What all watches of a gateway share. */
export interface LiveRunParts {
  readonly log: EventLog;
  readonly tail: RunStreamTail;
  readonly current: ReadCurrentRun;
  /** Bounds how many runs are read at once. */
  readonly inLine: <Answer>(work: () => Promise<Answer>) => Promise<Answer>;
  readonly publicUrl: () => string;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** Begins at once, and tells everything from the run's first fact on. */
export const liveRun = (parts: LiveRunParts, key: RunKey, listener: SubscriptionListener): LiveRun => {
  const { log, tail, current, inLine, publicUrl, logger, clock } = parts;
  const told = runEvents(publicUrl);
  const { facts } = told;
  const progress = progressEvents({ run: () => told.run(), onTold: listener.onProgress, clock });
  /** Of the last message that was read, and the last one that is known of. */
  let head = 0;
  let atLeast = 0;
  /** There may be messages that nobody told of: the leader is to be asked. */
  let unsure = true;
  let reading = false;
  let closed = false;
  let wait = FIRST_PAUSE_MS;
  let retry: NodeJS.Timeout | undefined;

  const close = (): void => {
    closed = true;
    clearTimeout(retry);
    progress.close();
    unlisten();
    unsubscribe();
  };
  const readFacts = async (upTo: number): Promise<boolean> => {
    const read = await readRun(log, key, { atLeast: upTo });
    if (read.kind === 'found') {
      head = read.history.head;
      return told.take(read.facts);
    }
    head = upTo;
    const viewed = await current(key);
    return viewed.kind === 'found' && told.takeView(viewed);
  };
  const readProgress = async (): Promise<void> => {
    const now = told.run();
    if (!now || !isExecuting(now)) return;
    const { number: attempt, executor_id: executor } = now.attempt;
    const report = await lastProgress(log, key, attempt, executor);
    if (report) progress.take({ attempt, executor, report });
    progress.emitNow();
  };
  const read = async (): Promise<void> => {
    if (closed) return;
    const asks = unsure;
    const known = facts.length;
    unsure = false;
    try {
      const upTo = asks ? await headOf(log, key) : atLeast;
      const isAsTold = (upTo === head && upTo > 0) || (await readFacts(upTo));
      if (isAsTold && asks) await readProgress();
      if (closed) return;
      if (facts.length > known) {
        listener.onFacts();
        progress.emitLater();
      }
      if (isAsTold && facts.at(-1)?.finished !== true) return;
      close();
      if (!isAsTold) listener.onOver('the log does not go on from what was told of this run');
    } catch (error) {
      unsure = true;
      throw error;
    }
  };
  const isBehind = (): boolean => !closed && (unsure || atLeast > head);
  /** Until everything is read that is known of; never twice at once. */
  const readOn = async (): Promise<void> => {
    if (reading) return;
    reading = true;
    clearTimeout(retry);
    try {
      while (isBehind()) {
        const upTo = atLeast;
        await inLine(read);
        wait = FIRST_PAUSE_MS;
        // What was told of is not there any more: the log has lost its end.
        if (atLeast === upTo) atLeast = head;
      }
    } catch (error) {
      logger.warn({ err: error, run_id: key.run_id }, 'a watched run could not be read; trying again');
      if (!closed) retry = setTimeout(() => void readOn(), wait);
      wait = Math.min(wait * 2, LONGEST_PAUSE_MS);
    } finally {
      reading = false;
    }
  };

  const unlisten = tail.listen(key, {
    onMessage: (sequence) => {
      atLeast = Math.max(atLeast, sequence);
      void readOn();
    },
    onGap: () => {
      unsure = true;
      void readOn();
    },
  });
  const unsubscribe = subscribeToProgress(log, key, (attempt, executor, report) =>
    progress.take({ attempt, executor, report }),
  );
  void readOn();
  return { facts, progress: () => progress.latest(), close };
};

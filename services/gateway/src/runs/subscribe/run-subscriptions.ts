import type { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { ReadCurrentRun } from '../current/current-run.ts';
import { runName } from '../../projection/core/run-name.ts';
import pLimit from 'p-limit';
import { awaitEnd, type AwaitEnd } from './await-end.ts';
import { runStreamTail } from './run-stream-tail.ts';
import { liveRun, type LiveRun, type LiveRunParts, type SubscriptionListener } from './live-run.ts';

/** What one watcher sees of a run; disposing it ends the watching. */
export interface RunSubscription extends Disposable {
  /** In the order of the log, the last one final when the run has ended. It only grows. */
  readonly facts: readonly RunFactEvent[];
  /** The last that was told of the attempt under way. */
  progress(): RunProgressEvent | undefined;
}

/** Who watches runs through this gateway. */
export interface RunSubscriptions extends AsyncDisposable {
  /** Tells the listener of what comes from now on; what is known already stands in the answer. */
  subscribe(key: RunKey, listener: SubscriptionListener): RunSubscription;
  readonly awaitEnd: AwaitEnd;
  /** No more can watch, or the service stops: one that asks for it is refused, and a waiting one not kept. */
  refuses(): 'too_many' | 'stopping' | undefined;
  /** How many watch now. */
  subscribers(): number;
  /** How many of them wait for the end. */
  waits(): number;
  /** Tells everybody that it is over, and takes no more. What reads the log ends with the dispose. */
  stop(): void;
}

export interface RunSubscriptionsOptions {
  readonly log: EventLog;
  readonly current: ReadCurrentRun;
  /** The address as clients know it, without a slash at the end. */
  readonly publicUrl: () => string;
  readonly mostWatchers: number;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** After an interruption every watched run is read. */
const READ_AT_ONCE = 32;

/** Nothing is read before somebody watches. */
export const openRunSubscriptions = (options: RunSubscriptionsOptions): RunSubscriptions => {
  const { log, logger, mostWatchers } = options;
  const tail = runStreamTail(log, logger);
  const parts: LiveRunParts = { ...options, tail, inLine: pLimit(READ_AT_ONCE) };
  const shared = new Map<string, SharedWatch>();
  let watchers = 0;
  let stopping = false;

  const watch = (key: RunKey, listener: SubscriptionListener): RunSubscription => {
    const name = runName(key);
    const present = shared.get(name);
    const one = present ?? sharedWatch(parts, key, () => shared.delete(name));
    shared.set(name, one);
    one.listeners.add(listener);
    watchers += 1;
    return {
      facts: one.watch.facts,
      progress: () => one.watch.progress(),
      [Symbol.dispose]: () => {
        if (!one.listeners.delete(listener)) return;
        watchers -= 1;
        if (one.listeners.size > 0) return;
        one.watch.close();
        if (shared.get(name) === one) shared.delete(name);
      },
    };
  };
  let waits = 0;
  const watchForEnd: RunSubscriptions['subscribe'] = (key, listener) => {
    const watched = watch(key, listener);
    waits += 1;
    return {
      ...watched,
      [Symbol.dispose]: () => {
        waits -= 1;
        watched[Symbol.dispose]();
      },
    };
  };
  const refuses = (): 'too_many' | 'stopping' | undefined => {
    if (stopping) return 'stopping';
    return watchers >= mostWatchers ? 'too_many' : undefined;
  };
  const stop = (): void => {
    stopping = true;
    for (const one of shared.values()) one.over('the service stops');
  };
  return {
    subscribe: watch,
    awaitEnd: awaitEnd({ subscribe: watchForEnd, refuses }),
    refuses,
    subscribers: () => watchers,
    waits: () => waits,
    stop,
    [Symbol.asyncDispose]: async () => {
      stop();
      for (const { watch } of shared.values()) watch.close();
      await tail[Symbol.asyncDispose]();
    },
  };
};

interface SharedWatch {
  readonly watch: LiveRun;
  readonly listeners: Set<SubscriptionListener>;
  readonly over: (why: string) => void;
}

const sharedWatch = (parts: LiveRunParts, key: RunKey, onOver: () => void): SharedWatch => {
  const listeners = new Set<SubscriptionListener>();
  const over = (why: string): void => {
    onOver();
    listeners.forEach((listener) => listener.onOver(why));
  };
  const watch = liveRun(parts, key, {
    onFacts: () => listeners.forEach((listener) => listener.onFacts()),
    onProgress: () => listeners.forEach((listener) => listener.onProgress()),
    onOver: over,
  });
  return { watch, listeners, over };
};

import type { RunKey } from '@runledger/contracts/events/subjects';
import { sleep, untilAborted } from '@runledger/resilience/abort';
import pLimit from 'p-limit';
import { runName } from '../views/stored-run.decide.ts';
import type { StreamHolder, StreamLimits } from '../records/quotas/quotas.ts';
import {
  openLiveRun,
  runStreamTail,
  type LiveRun,
  type ReadsOfLiveRuns,
  type RunSubscription,
  type SubscriptionListener,
  type SubscriptionRefusal,
} from './live-run.ts';
import type { Kit } from '../kit.ts';

/** The subscriptions of clients to runs, through this gateway. */
export interface RunSubscriptions extends AsyncDisposable {
  /** Calls the listener from now on. The subscription has what is known already. */
  subscribe(key: RunKey, holder: StreamHolder, listener: SubscriptionListener): RunSubscription;
  /**
   * Resolves when the run has ended, when the time is over, at once when the service stops or the signal aborts, and after a second when
   * too many requests wait already. Read the run then.
   */
  awaitEnd(
    key: RunKey,
    wait: { readonly holder: StreamHolder; readonly withinMs: number; readonly signal: AbortSignal },
  ): Promise<void>;
  /** Why this holder cannot subscribe once more now. Call it before `subscribe`. */
  refuses(holder: StreamHolder): SubscriptionRefusal | undefined;
  subscribers(): number;
  /** How many of the subscribers wait for the end of a run. */
  waits(): number;
  /** Ends every subscription and refuses new ones. Reading the log ends with the dispose. */
  stop(): void;
}

/** A live run, for all its listeners. It closes when the last one leaves. */
interface SharedRun {
  readonly live: LiveRun;
  readonly listeners: Set<SubscriptionListener>;
  readonly end: (why: string) => void;
}

/** After an interruption, every run with subscribers is read. */
const MAX_CONCURRENT_READS = 32;
const BUSY_PAUSE_MS = 1_000;

/** Reads nothing before the first subscription. */
export const openRunSubscriptions = (
  kit: Kit,
  read: ReadsOfLiveRuns,
  /** What each organisation and each key may have of them. */
  limits: StreamLimits,
): RunSubscriptions => {
  const tail = runStreamTail(kit);
  const limit = pLimit(MAX_CONCURRENT_READS);
  const shared = new Map<string, SharedRun>();
  let subscribers = 0;
  let waits = 0;
  let isStopping = false;

  const share = (key: RunKey, name: string): SharedRun => {
    const listeners = new Set<SubscriptionListener>();
    const end = (why: string): void => {
      shared.delete(name);
      listeners.forEach((listener) => listener.onOver(why));
    };
    const live = openLiveRun(kit, { ...read, tail, limit }, key, {
      onFacts: () => listeners.forEach((listener) => listener.onFacts()),
      onProgress: () => listeners.forEach((listener) => listener.onProgress()),
      onOver: end,
    });
    return { live, listeners, end };
  };
  const subscribe: RunSubscriptions['subscribe'] = (key, holder, listener) => {
    const name = runName(key);
    const run = shared.get(name) ?? share(key, name);
    shared.set(name, run);
    run.listeners.add(listener);
    const held = limits.hold(holder);
    subscribers += 1;
    return {
      facts: run.live.facts,
      progress: () => run.live.progress(),
      [Symbol.dispose]: () => {
        if (!run.listeners.delete(listener)) return;
        subscribers -= 1;
        held[Symbol.dispose]();
        if (run.listeners.size > 0) return;
        run.live.close();
        if (shared.get(name) === run) shared.delete(name);
      },
    };
  };
  const refuses = (holder: StreamHolder): SubscriptionRefusal | undefined => {
    if (isStopping) return 'stopping';
    const refused = limits.refuses(holder);
    return refused ?? (subscribers >= kit.config.RUNLEDGER_STREAMS_MAX ? 'too_many' : undefined);
  };
  const stop = (): void => {
    isStopping = true;
    for (const run of shared.values()) {
      run.end('the service stops');
      run.live.close();
    }
  };
  return {
    subscribe,
    awaitEnd: async (key, { holder, withinMs, signal }) => {
      if (signal.aborted) return;
      const refusal = refuses(holder);
      if (refusal === 'stopping') return;
      // A client that retried at once would only add load.
      if (refusal) return sleep(Math.min(withinMs, BUSY_PAUSE_MS), signal);
      const over = Promise.withResolvers<void>();
      const check = (): void => {
        if (subscription.facts.at(-1)?.finished === true) over.resolve();
      };
      using subscription = subscribe(key, holder, {
        onFacts: check,
        onProgress: () => undefined,
        onOver: () => over.resolve(),
      });
      waits += 1;
      check();
      const timer = setTimeout(over.resolve, withinMs);
      await untilAborted(over.promise, signal);
      clearTimeout(timer);
      waits -= 1;
    },
    refuses,
    subscribers: () => subscribers,
    waits: () => waits,
    stop,
    [Symbol.asyncDispose]: async () => {
      stop();
      await tail[Symbol.asyncDispose]();
    },
  };
};

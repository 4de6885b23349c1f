import type { RunKey } from '@runledger/contracts/events/subjects';
import pLimit from 'p-limit';
import { runName } from '../views/stored-run.decide.ts';
import type { StreamHolder, StreamLimits } from '../records/quotas/quotas.ts';
import { awaitEnd, type AwaitEnd } from './await-end.ts';
import {
  openLiveRun,
  runStreamTail,
  type LiveRun,
  type ReadsOfLiveRuns,
  type Subscribe,
  type SubscriptionListener,
  type SubscriptionRefusal,
} from './live-run.ts';
import { Refused } from '../door/refusal.ts';
import type { Kit } from '../kit.ts';

/** The subscriptions of clients to runs, through this gateway. */
export interface RunSubscriptions extends AsyncDisposable {
  readonly subscribe: Subscribe;
  readonly awaitEnd: AwaitEnd;
  /** Why this holder cannot subscribe once more now. Call it before `subscribe`. */
  refuses(holder: StreamHolder): SubscriptionRefusal | undefined;
  subscribers(): number;
  /** How many of the subscribers wait for the end of a run. */
  waits(): number;
  /** Ends every subscription and refuses new ones. Reading the log ends with the dispose. */
  stop(): void;
}

/** After an interruption, every run with subscribers is read. */
const MAX_CONCURRENT_READS = 32;

/** Reads nothing before the first subscription. */
export const openRunSubscriptions = (
  kit: Kit,
  read: ReadsOfLiveRuns,
  /** What each organisation and each key may have of them. */
  limits: StreamLimits,
): RunSubscriptions => {
  const tail = runStreamTail(kit);
  const limit = pLimit(MAX_CONCURRENT_READS);
  const runs = sharedRuns((key, listener) => openLiveRun(kit, { ...read, tail, limit }, key, listener));
  let subscribers = 0;
  let waits = 0;
  let isStopping = false;

  const subscribe: Subscribe = (key, holder, listener) => {
    const { live, leave } = runs.join(key, listener);
    const held = limits.hold(holder);
    subscribers += 1;
    return {
      facts: live.facts,
      progress: () => live.progress(),
      [Symbol.dispose]: () => {
        if (!leave()) return;
        subscribers -= 1;
        held[Symbol.dispose]();
      },
    };
  };
  const subscribeForEnd: Subscribe = (key, holder, listener) => {
    const subscription = subscribe(key, holder, listener);
    waits += 1;
    return {
      ...subscription,
      [Symbol.dispose]: () => {
        waits -= 1;
        subscription[Symbol.dispose]();
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
    runs.endAll('the service stops');
  };
  return {
    subscribe,
    awaitEnd: awaitEnd(subscribeForEnd, refuses),
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

interface SharedRuns {
  /** `leave` is false when the listener had left before. */
  join(
    key: RunKey,
    listener: SubscriptionListener,
  ): { readonly live: LiveRun; readonly leave: () => boolean };
  endAll(why: string): void;
}

interface SharedRun {
  readonly live: LiveRun;
  readonly listeners: Set<SubscriptionListener>;
  readonly end: (why: string) => void;
}

/** One live run for all listeners of a run. It closes when the last listener leaves. */
const sharedRuns = (open: (key: RunKey, listener: SubscriptionListener) => LiveRun): SharedRuns => {
  const shared = new Map<string, SharedRun>();

  const share = (key: RunKey, name: string): SharedRun => {
    const listeners = new Set<SubscriptionListener>();
    const end = (why: string): void => {
      shared.delete(name);
      listeners.forEach((listener) => listener.onOver(why));
    };
    const live = open(key, {
      onFacts: () => listeners.forEach((listener) => listener.onFacts()),
      onProgress: () => listeners.forEach((listener) => listener.onProgress()),
      onOver: end,
    });
    return { live, listeners, end };
  };
  return {
    join: (key, listener) => {
      const name = runName(key);
      const run = shared.get(name) ?? share(key, name);
      shared.set(name, run);
      run.listeners.add(listener);
      const leave = (): boolean => {
        if (!run.listeners.delete(listener)) return false;
        if (run.listeners.size > 0) return true;
        run.live.close();
        if (shared.get(name) === run) shared.delete(name);
        return true;
      };
      return { live: run.live, leave };
    },
    endAll: (why) => {
      for (const run of shared.values()) {
        run.end(why);
        run.live.close();
      }
    },
  };
};

/** Refuses a stream that the gateway, the organisation, or the key has no room for. @throws {Refused} */
export const refuseWhenFull = (subscriptions: RunSubscriptions, holder: StreamHolder): void => {
  switch (subscriptions.refuses(holder)) {
    case undefined:
      return;
    case 'too_many':
      throw new Refused({
        code: 'gateway_streams_full',
        why: 'This gateway has reached its limit of open streams. Try again, or poll the run',
      });
    case 'over_quota':
      throw new Refused({
        code: 'too_many_streams',
        why: 'The organisation has reached its limit of open streams and waiting reads at this gateway. Close some, or poll the run',
      });
    case 'over_key_limit':
      throw new Refused({
        code: 'too_many_streams',
        why: 'This API key with the keys derived from it, or their tokens, have reached the limit of open streams and waiting reads at this gateway. Close some, or poll the run',
      });
    case 'stopping':
      throw new Refused({ code: 'gateway_stopping', why: 'This gateway is stopping. Try again' });
  }
};

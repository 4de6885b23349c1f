import { setTimeout as pause } from 'node:timers/promises';
import {
  parseActivitySubject,
  ALL_LIFECYCLES,
  ALL_PROGRESS,
  ALL_REDELIVERY_REQUESTS,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { partitionOf } from '@runledger/contracts/deliveries/deliveries';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { newerVersionOf } from '@runledger/event-log/follow/newer-version';
import { follow, NewerVersion, PositionBeyondEnd, type Following } from '@runledger/event-log/follow/follow';
import { sleep } from '@runledger/resilience/abort';
import type { WebhookTarget, WebhookTargets } from './webhook-targets.ts';
import { runNotice } from './run-notice.ts';

/** What a share is told of the runs whose callbacks belong to it. */
export interface FeedListener {
  readonly share: number;
  /** Sequences up to which this listener has taken everything. */
  taken(): { readonly runs: number; readonly activity: number };
  /** `time` is the broker's, of the fact. */
  onEnded(key: RunKey, callback: WebhookTarget, sequence: number, time: string): void;
  onRedelivery(key: RunKey, callback: WebhookTarget, sequence: number, time: string, round: number): void;
  /** Something to tell before the end, for a run that wants it. */
  onChanged(
    key: RunKey,
    callback: WebhookTarget,
    at: { readonly runs?: number; readonly activity?: number },
  ): void;
  onTaken(stream: 'runs' | 'activity', sequence: number): void;
  /** The log ends before what was taken: it was restored from an older copy. */
  onBeyondEnd(stream: 'runs' | 'activity', lastSequence: number): void;
}

export interface Feed extends AsyncDisposable {
  add(listener: FeedListener): void;
  remove(listener: FeedListener): void;
  state(): { readonly ok: true } | { readonly ok: false; readonly why: string };
}

const AGAIN_AFTER_MS = 1_000;
/** Shares come in groups, and each would begin anew. */
const GATHER_MS = 50;

/** Reads RUNS and ACTIVITY once for all shares of this process, from where the furthest behind of them is. */
export const openFeed = (log: EventLog, callbacks: WebhookTargets): Feed => {
  const listeners = new Set<FeedListener>();
  const stop = new AbortController();
  const runs = openReader(log, 'runs', listeners, stop.signal, (messages, present) =>
    tellRuns(messages, present, callbacks),
  );
  const activity = openReader(log, 'activity', listeners, stop.signal, (messages, present) =>
    tellActivity(messages, present, callbacks),
  );
  return {
    add: (listener) => {
      listeners.add(listener);
      runs.again();
      activity.again();
    },
    remove: (listener) => void listeners.delete(listener),
    state: () => {
      const state = runs.state();
      return state.ok ? activity.state() : state;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all([runs.over, activity.over]);
    },
  };
};

type Kind = 'runs' | 'activity';

interface Reader {
  /** Begins anew from where the furthest listener is. */
  again(): void;
  state(): { readonly ok: true } | { readonly ok: false; readonly why: string };
  readonly over: Promise<void>;
}

const SOURCES = {
  runs: { stream: 'RUNS', subjects: [ALL_LIFECYCLES, ALL_REDELIVERY_REQUESTS] },
  activity: { stream: 'ACTIVITY', subjects: [ALL_PROGRESS] },
} as const;

const openReader = (
  log: EventLog,
  kind: Kind,
  listeners: ReadonlySet<FeedListener>,
  signal: AbortSignal,
  take: (messages: readonly StoredMessage[], present: ReadonlySet<FeedListener>) => Promise<void>,
): Reader => {
  let wake = Promise.withResolvers<void>();
  let following: Following | undefined;
  let stopped: string | undefined;
  signal.addEventListener('abort', () => wake.resolve(), { once: true });

  const read = async (): Promise<void> => {
    await wake.promise;
    while (!signal.aborted) {
      await pause(GATHER_MS);
      wake = Promise.withResolvers();
      if (signal.aborted) return;
      // One that comes later is not told from here on: what lies before would be missing.
      const present = new Set(listeners);
      const after = Math.min(...[...present].map((listener) => listener.taken()[kind]));
      if (!Number.isFinite(after)) {
        await wake.promise;
        continue;
      }
      try {
        const onBatch = (messages: StoredMessage[]): Promise<void> =>
          take(messages, present.intersection(listeners));
        await using opened = await follow(log, { ...SOURCES[kind], after, onBatch });
        following = opened;
        const failure = await Promise.race([opened.failed, wake.promise]);
        if (failure) throw failure;
      } finally {
        following = undefined;
      }
    }
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await read();
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof NewerVersion) {
          stopped = error.message;
          log.logger.error({ err: error }, 'the notifier has stopped reading');
          return;
        }
        log.logger.warn({ err: error, kind }, 'reading was interrupted; it begins again');
        if (error instanceof PositionBeyondEnd) {
          for (const listener of listeners) listener.onBeyondEnd(kind, error.lastSequence);
        }
        await sleep(AGAIN_AFTER_MS, signal);
        wake.resolve();
      }
    }
  };
  return {
    again: () => wake.resolve(),
    state: () => (stopped === undefined ? (following?.state() ?? { ok: true }) : { ok: false, why: stopped }),
    over: run(),
  };
};

const NONE = Promise.resolve(null);

const tellRuns = async (
  messages: readonly StoredMessage[],
  listeners: ReadonlySet<FeedListener>,
  callbacks: WebhookTargets,
): Promise<void> => {
  for (const message of messages) {
    const newer = newerVersionOf('RUNS', message);
    if (newer) throw newer;
  }
  const news = messages.map((message) => ({ ...message, news: runNotice(message) }));
  for (const { news: one } of news) if (one?.kind === 'queued') callbacks.note(one.key.run_id, one.callback);
  // Those that are not known are looked up side by side.
  const found = await Promise.all(news.map(({ news: one }) => (one ? callbacks.find(one.key) : NONE)));
  for (const [at, { sequence, time, news: one }] of news.entries()) {
    const callback = found[at];
    if (!one || !callback) continue;
    const listener = listenerOf(listeners, callback);
    if (!listener || sequence <= listener.taken().runs) continue;
    switch (one.kind) {
      case 'queued':
      case 'changed':
        if (callback.intermediate) listener.onChanged(one.key, callback, { runs: sequence });
        break;
      case 'ended':
        listener.onEnded(one.key, callback, sequence, time);
        break;
      case 'redelivery':
        listener.onRedelivery(one.key, callback, sequence, time, one.round);
        break;
    }
    listener.onTaken('runs', sequence);
  }
  allTaken(listeners, 'runs', messages);
};

const tellActivity = async (
  messages: readonly StoredMessage[],
  listeners: ReadonlySet<FeedListener>,
  callbacks: WebhookTargets,
): Promise<void> => {
  const about = messages.map(({ subject, sequence }) => ({ sequence, key: parseActivitySubject(subject) }));
  const found = await Promise.all(about.map(({ key }) => (key ? callbacks.find(key) : NONE)));
  for (const [at, { sequence, key }] of about.entries()) {
    const callback = found[at];
    if (!key || !callback?.intermediate) continue;
    const listener = listenerOf(listeners, callback);
    if (!listener || sequence <= listener.taken().activity) continue;
    listener.onChanged({ org_id: key.org_id, run_id: key.run_id }, callback, { activity: sequence });
    listener.onTaken('activity', sequence);
  }
  allTaken(listeners, 'activity', messages);
};

const listenerOf = (
  listeners: ReadonlySet<FeedListener>,
  { origin }: WebhookTarget,
): FeedListener | undefined => {
  const share = partitionOf(origin);
  for (const listener of listeners) if (listener.share === share) return listener;
  return undefined;
};

const allTaken = (
  listeners: ReadonlySet<FeedListener>,
  kind: Kind,
  messages: readonly StoredMessage[],
): void => {
  const last = messages.at(-1)?.sequence;
  if (last !== undefined) for (const listener of listeners) listener.onTaken(kind, last);
};

import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { originOf } from '@runledger/contracts/deliveries/timers';
import type { RunId } from '@runledger/contracts/ids';
import { type RunRequest, isDeleted } from '@runledger/contracts/fold/run';
import {
  parseLifecycleSubject,
  parseWebhookSubject,
  type RunKey,
  type LifecycleSubject,
} from '@runledger/contracts/events/subjects';
import { parseProgressSubject } from '@runledger/contracts/events/progress';
import { acceptMessage, EMPTY_HISTORY, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { followsEnd, RUN_EVENTS } from '@runledger/contracts/events/run-event';

/** Where a run's notifications go, and which it wants. */
export interface WebhookTarget {
  readonly origin: string;
  readonly intermediate: boolean;
  /** The broker's time of the oldest fact that the run is read from, in milliseconds since 1970: that one expires first. */
  readonly oldestFactAt: number;
}

/** The origin of a URL that is not HTTP. An invalid URL gets it too, so that its delivery ends like any other. */
const NO_ORIGIN = 'null';

/** Null for a run without a webhook. */
export const webhookTargetOf = (
  { webhook, webhook_intermediate_status }: RunRequest,
  oldestFactAt: number,
): WebhookTarget | null => {
  if (webhook === null) return null;
  const url = URL.parse(webhook);
  return { origin: url ? originOf(url) : NO_ORIGIN, intermediate: webhook_intermediate_status, oldestFactAt };
};

/** Of a run whose first fact has left the log. If it has a webhook, its notification is given up. */
export const EXPIRED_TARGET: WebhookTarget = { origin: NO_ORIGIN, intermediate: false, oldestFactAt: 0 };

export interface WebhookTargets {
  note(run: RunId, target: WebhookTarget | null): void;
  /**
   * Looks it up when it is not known. Null for a run without a webhook, and for an unknown run. `atLeast`: a sequence of the run in
   * RUNS that the caller was handed; 0 for none.
   */
  find(key: RunKey, atLeast: number): Promise<WebhookTarget | null>;
}

const MAX_KNOWN = 50_000;

/** Undefined for a run that the log does not have. */
type LookUpTarget = (key: RunKey, atLeast: number) => Promise<WebhookTarget | null | undefined>;

interface Known {
  readonly target: WebhookTarget | null;
}

/** Keeps the targets that were used recently, so that not every fact costs a read. */
export const openWebhookTargets = (lookUp: LookUpTarget): WebhookTargets => {
  const known = new LRUCache<RunId, Known>(atMost(MAX_KNOWN));
  const reading = new Map<RunId, Promise<Known | undefined>>();

  const read = async ({ run_id, ...key }: RunKey, atLeast: number): Promise<Known | undefined> => {
    try {
      const target = await lookUp({ run_id, ...key }, atLeast);
      // What was noted meanwhile is newer: the run may not have existed yet.
      const noted = known.get(run_id);
      if (noted || target === undefined) return noted;
      known.set(run_id, { target });
      return { target };
    } finally {
      reading.delete(run_id);
    }
  };
  const begin = (key: RunKey, atLeast: number): Promise<Known | undefined> => {
    const begun = read(key, atLeast);
    reading.set(key.run_id, begun);
    return begun;
  };
  return {
    note: (run, target) => void known.set(run, { target }),
    find: async (key, atLeast) => {
      const present = known.get(key.run_id);
      if (present) return present.target;
      const shared = reading.get(key.run_id);
      // Whoever began it may have been handed less.
      const found = (shared && (await shared)) ?? (await begin(key, atLeast));
      return found?.target ?? null;
    },
  };
};

/**
 * What a message may mean for notifications. Whether it is valid is known when the run is read. `target` is where they go: of a fact
 * that a history can begin with.
 */
export type RunNotice =
  | {
      readonly type: 'run_changed';
      readonly key: RunKey;
      readonly target?: WebhookTarget | null;
    }
  | {
      readonly type: 'run_ended';
      readonly key: RunKey;
      /** Of a run that outlived the log: its end says where its notification goes. */
      readonly target?: WebhookTarget | null;
    }
  | { readonly type: 'redelivery_requested'; readonly key: RunKey; readonly round: number }
  | { readonly type: 'progress_reported'; readonly key: RunKey };

/** Of a message of RUNS. Undefined for one that concerns no notification. */
export const runNotice = (message: StoredMessage): RunNotice | undefined => {
  const { subject } = message;
  const life = parseLifecycleSubject(subject);
  if (life) {
    if (followsEnd(life.fact)) return undefined;
    const key = { org_id: life.org_id, run_id: life.run_id };
    const ended = life.fact === 'ended' || (life.fact === 'cancel_requested' && life.executor_id === null);
    const target = mayBegin(life) ? targetIn(message) : {};
    return { type: ended ? 'run_ended' : 'run_changed', key, ...target };
  }
  const webhook = parseWebhookSubject(subject);
  if (webhook?.fact !== 'redelivery_requested') return undefined;
  const { org_id, run_id, round } = webhook;
  return { type: 'redelivery_requested', key: { org_id, run_id }, round };
};

/** Of a message of ACTIVITY. */
export const progressNotice = ({ subject }: StoredMessage): RunNotice | undefined => {
  const about = parseProgressSubject(subject);
  return about && { type: 'progress_reported', key: { org_id: about.org_id, run_id: about.run_id } };
};

/** Only a fact that may begin the history of a run has its target: RunQueued, or the end of a run that outlived the log. */
const mayBegin = ({ fact, writer }: LifecycleSubject): boolean =>
  [RUN_EVENTS.RunQueued, RUN_EVENTS.RunExpired].some((type) => type.fact === fact && type.writer === writer);

/** A forged one would turn the webhook off, or redirect it. */
const targetIn = (message: StoredMessage): { readonly target?: WebhookTarget | null } => {
  const first = acceptMessage(RUN_CHAIN, EMPTY_HISTORY, message);
  return first.kind === 'accepted' && !isDeleted(first.state)
    ? { target: webhookTargetOf(first.state.request, Date.parse(message.time)) }
    : {};
};

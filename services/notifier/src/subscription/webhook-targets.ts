import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { originOf } from '@runledger/contracts/deliveries/partition';
import type { RunId } from '@runledger/contracts/ids';
import type { RunRequest } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

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
export type LookUpTarget = (key: RunKey, atLeast: number) => Promise<WebhookTarget | null | undefined>;

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

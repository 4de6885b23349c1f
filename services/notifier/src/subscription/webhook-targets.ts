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
  /** Looks it up when it is not known. Null for a run without a webhook, and for an unknown run. */
  find(key: RunKey): Promise<WebhookTarget | null>;
}

const MAX_KNOWN = 50_000;

/** Keeps the targets that were used recently, so that not every fact costs a read. */
export const openWebhookTargets = (
  lookUp: (key: RunKey) => Promise<WebhookTarget | null>,
): WebhookTargets => {
  const known = new LRUCache<RunId, { readonly target: WebhookTarget | null }>({ max: MAX_KNOWN });
  const reading = new Map<RunId, Promise<WebhookTarget | null>>();

  const read = async ({ run_id, ...key }: RunKey): Promise<WebhookTarget | null> => {
    try {
      const found = { target: await lookUp({ run_id, ...key }) };
      // What was noted meanwhile is newer: the run may not have existed yet.
      const { target } = known.get(run_id) ?? found;
      known.set(run_id, { target });
      return target;
    } finally {
      reading.delete(run_id);
    }
  };
  return {
    note: (run, target) => void known.set(run, { target }),
    find: async (key) => {
      const present = known.get(key.run_id);
      if (present) return present.target;
      const asked = reading.get(key.run_id) ?? read(key);
      reading.set(key.run_id, asked);
      return asked;
    },
  };
};

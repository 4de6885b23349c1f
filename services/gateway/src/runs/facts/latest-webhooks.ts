import type { RunKey } from '@runledger/contracts/events/subjects';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';

/** The state of the notifications of runs, as this gateway last showed it. Without the log, the views may be behind it. */
export interface LatestWebhooks {
  readonly remember: (key: RunKey, webhook: WebhookHistory) => void;
  /** The later of the shown state and the state in a view. */
  readonly latest: (key: RunKey, viewed: WebhookHistory) => WebhookHistory;
}

const MAX_REMEMBERED = 10_000;

export const latestWebhooks = (): LatestWebhooks => {
  const seen = new LRUCache<string, WebhookHistory>(atMost(MAX_REMEMBERED));
  return {
    remember: ({ run_id }, webhook) => {
      if (webhook.head <= (seen.get(run_id)?.head ?? 0)) return;
      seen.set(run_id, webhook);
    },
    latest: ({ run_id }, viewed) => {
      const before = seen.get(run_id);
      return before && before.head > viewed.head ? before : viewed;
    },
  };
};

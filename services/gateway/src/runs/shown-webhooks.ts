import type { RunKey } from '@runledger/contracts/subjects';
import type { WebhookHistory } from '@runledger/contracts/webhook-history';

/** What this gateway last said of the notifications of runs: for a while without the log, when the views may be behind it. */
export interface ShownWebhooks {
  readonly remember: (key: RunKey, webhook: WebhookHistory) => void;
  /** The later one of what was said and what a view has. */
  readonly latest: (key: RunKey, viewed: WebhookHistory) => WebhookHistory;
}

const MOST_REMEMBERED = 10_000;

export const shownWebhooks = (): ShownWebhooks => {
  const shown = new Map<string, WebhookHistory>();
  return {
    remember: ({ run_id }, webhook) => {
      if (webhook.head <= (shown.get(run_id)?.head ?? 0)) return;
      shown.delete(run_id);
      shown.set(run_id, webhook);
      const [oldest] = shown.keys();
      if (shown.size > MOST_REMEMBERED && oldest !== undefined) shown.delete(oldest);
    },
    latest: ({ run_id }, viewed) => {
      const before = shown.get(run_id);
      return before && before.head > viewed.head ? before : viewed;
    },
  };
};

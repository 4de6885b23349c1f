import type { RunKey } from '@runledger/contracts/events/subjects';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { withoutPath } from '@runledger/contracts/deliveries/delivery-attempts';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { allows } from '@runledger/contracts/scopes';

/** The state of the notifications of runs, as this gateway last showed it. Without the log, the views may be behind it. */
export interface ShownWebhooks {
  readonly remember: (key: RunKey, webhook: WebhookHistory) => void;
  /** The later of the shown state and the state in a view. */
  readonly latest: (key: RunKey, viewed: WebhookHistory) => WebhookHistory;
}

const MAX_REMEMBERED = 10_000;

export const shownWebhooks = (): ShownWebhooks => {
  const shown = new LRUCache<string, WebhookHistory>(atMost(MAX_REMEMBERED));
  return {
    remember: ({ run_id }, webhook) => {
      if (webhook.head <= (shown.get(run_id)?.head ?? 0)) return;
      shown.set(run_id, webhook);
    },
    latest: ({ run_id }, viewed) => {
      const before = shown.get(run_id);
      return before && before.head > viewed.head ? before : viewed;
    },
  };
};

/** A callback URL as a caller sees it. */
export type ShowCallback = (url: string) => string;

/** An admin sees the whole address. */
export type Audience = 'admins' | 'others';

export const audienceOf = (scopes: readonly KeyScope[]): Audience =>
  allows(scopes, 'admin') ? 'admins' : 'others';

/** What follows the host may be a secret: whoever has it can post to the receiver. Only an admin sees it. */
export const showCallback = (scopes: readonly KeyScope[]): ShowCallback => callbackFor(audienceOf(scopes));

export const callbackFor = (audience: Audience): ShowCallback =>
  audience === 'admins' ? (url) => url : withoutPath;

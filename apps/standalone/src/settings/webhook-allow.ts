import { hostOf } from '@runledger/webhooks/hosts/host';
import { callbackPolicy, isExempt } from '@runledger/webhooks/policy/callback-policy';

export interface WebhookAllow {
  /** Where webhooks may go besides public addresses. */
  readonly entries: readonly string[];
  /** Whether the operator has set it. */
  readonly isSet: boolean;
}

const LOOPBACK = callbackPolicy({ allow: ['loopback'], ports: [], ownServices: [] });

/**
 * The setting, or loopback for an API that only this machine reaches: whoever uses it reaches the services of the machine anyway. Others
 * must not reach them by a webhook.
 */
export const webhookAllowOf = (setting: readonly string[] | undefined, apiHost: string): WebhookAllow => {
  if (setting !== undefined) return { entries: setting, isSet: true };
  return { entries: isExempt(LOOPBACK, hostOf(apiHost)) ? ['loopback'] : [], isSet: false };
};

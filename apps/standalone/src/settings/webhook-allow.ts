import { networks } from '@runledger/webhooks/hosts/address-rule';
import { hostOf } from '@runledger/webhooks/hosts/host';

export interface WebhookAllow {
  /** Where webhooks may go besides public addresses. */
  readonly entries: readonly string[];
  /** Whether the operator has set it. */
  readonly isSet: boolean;
}

const LOOPBACK = networks(['127.0.0.0/8', '::1']);

/**
 * The setting, or loopback for an API that only this machine reaches: whoever uses it reaches the services of the machine anyway. Others
 * must not reach them by a webhook.
 */
export const webhookAllowOf = (setting: readonly string[] | undefined, apiHost: string): WebhookAllow => {
  if (setting !== undefined) return { entries: setting, isSet: true };
  const host = hostOf(apiHost);
  const isLoopback = host.kind === 'name' ? host.name === 'localhost' : LOOPBACK.includes(host.address);
  return { entries: isLoopback ? ['loopback'] : [], isSet: false };
};

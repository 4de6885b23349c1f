import type { OpenBreaker } from '@runledger/contracts/deliveries/timers';
import type { DeliveryAttemptResult } from '@runledger/contracts/events/delivery-attempt-result';

/** One organisation's webhooks at one origin. */
export interface Receiver {
  readonly org_id: string;
  readonly origin: string;
}

/** Also the key of its breaker. The key of the origin's breaker is the origin. */
export const receiverKey = ({ org_id, origin }: Receiver): string => `${org_id} ${origin}`;

/** The key of a receiver's breaker, or of an origin's. */
export const breakerKey = ({ org_id, origin }: Pick<OpenBreaker, 'org_id' | 'origin'>): string =>
  org_id === null ? origin : receiverKey({ org_id, origin });

/** The receiver or the origin that a breaker's key names. */
export const receiverOfKey = (key: string): Pick<OpenBreaker, 'org_id' | 'origin'> => {
  const space = key.indexOf(' ');
  return space < 0
    ? { org_id: null, origin: key }
    : { org_id: key.slice(0, space), origin: key.slice(space + 1) };
};

/** How an attempt ended. `nothing`: there was nothing to send. */
export type Sent = DeliveryAttemptResult | 'nothing';

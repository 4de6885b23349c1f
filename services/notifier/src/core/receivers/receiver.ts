import type { DeliveryAttemptResult } from '@runledger/contracts/deliveries/attempt-result';

/** One organisation's callbacks at one origin: what is slow, dead or hostile alone. */
export interface Receiver {
  readonly org_id: string;
  readonly origin: string;
}

export const nameOf = ({ org_id, origin }: Receiver): string => `${org_id} ${origin}`;

/** `nothing`: it turned out that there was nothing to send. */
export type Sent = DeliveryAttemptResult | 'nothing';

/** Something to send, and when is the dispatcher's to say. */
export interface Item {
  readonly receiver: Receiver;
  /** Goes before intermediate ones. */
  readonly final: boolean;
  /** Makes one try. Never rejects. */
  send(): Promise<Sent>;
  /** It is not its turn for a while: its breaker is open, or too much waits before it. The dispatcher forgets it. */
  putOff(): void;
}

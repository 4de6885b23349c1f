import { partitionOf } from '@runledger/contracts/deliveries/partition';
import type { PendingDelivery } from '@runledger/contracts/deliveries/timers';
import { orgId, runId } from '@runledger/contracts/ids';
import type { FinalDelivery } from '../core/delivery/final-delivery.ts';
import type { StoredPending } from '../timers/read-timers.ts';

/** The delivery as it is stored in TIMERS. */
export const pendingOf = (
  { key, origin, round, attempts, expiresAt, fact }: FinalDelivery,
  at: number,
): PendingDelivery => ({
  version: 1,
  ...key,
  origin,
  round,
  tries: attempts,
  due_at: new Date(at).toISOString(),
  expires_at: new Date(expiresAt).toISOString(),
  sequence: fact,
});

/** The delivery that a message of TIMERS holds. */
export const deliveryIn = (
  { sequence, delivery }: StoredPending,
  kind: 'due' | 'deferred',
  mayBeSuperseded: boolean,
): FinalDelivery => ({
  key: { org_id: orgId(delivery.org_id), run_id: runId(delivery.run_id) },
  origin: delivery.origin,
  partition: partitionOf(delivery.origin),
  round: delivery.round,
  attempts: delivery.tries,
  expiresAt: Date.parse(delivery.expires_at),
  fact: delivery.sequence,
  source: { kind, sequence },
  mayBeSuperseded,
});

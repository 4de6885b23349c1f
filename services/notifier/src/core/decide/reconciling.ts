import type { FinalDelivery } from '../delivery/final-delivery.ts';
import type { ReconciliationInput } from '../state/input.ts';
import { hasFinal, type NotifierState } from '../state/state.ts';
import { beginAttempt } from './attempts.ts';
import { expectDeferred } from './loading.ts';
import { addFinal, putInOutbox } from './outboxes.ts';

type Input<Type> = Extract<ReconciliationInput, { type: Type }>;

/** Unsettled deliveries of a partition that every reconciliation checks again. Others are checked once. */
const MAX_PENDING_CHECKS = 200;

/** The reconciliation has checked where a run's final notification is. */
export const runChecked = (
  state: NotifierState,
  { partition, key, sequence, found }: Input<'run_checked'>,
): void => {
  const held = state.partitions.get(partition);
  if (!held || held.closing) return;
  held.pendingChecks.delete(key.run_id);
  if (found.kind === 'settled') return;
  // Until it is settled.
  if (held.pendingChecks.size < MAX_PENDING_CHECKS) held.pendingChecks.set(key.run_id, { key, sequence });
  if (hasFinal(state, key.run_id)) return;
  if (found.kind === 'timer' && found.isDeferred) {
    // Its reminder may have been lost with a process.
    expectDeferred(state, { org_id: key.org_id, origin: found.origin });
  } else if (found.kind === 'forgotten') {
    const { origin, round } = found;
    const expiresAt = state.moment.now + state.settings.giveUpAfterMs;
    const source = { kind: 'fact', sequence } as const;
    addFinal(state, { key, origin, partition, round, attempts: 0, expiresAt, source, mayBeSuperseded: true });
  }
};

export const checkedUpTo = (state: NotifierState, { partitions, sequence }: Input<'checked_up_to'>): void => {
  for (const number of partitions) {
    const held = state.partitions.get(number);
    if (held) held.sweptUpTo = Math.max(held.sweptUpTo, sequence);
  }
};

/** A deferred delivery is given up without a permit: nothing is sent. */
export const expiredFound = (state: NotifierState, delivery: FinalDelivery): void => {
  const held = state.partitions.get(delivery.partition);
  const { key, round, attempts } = delivery;
  // A redelivery waits for its first attempt.
  const waits = round > 1 && attempts === 0;
  if (!held || held.closing || waits || hasFinal(state, key.run_id)) return;
  // An intermediate notification is in flight: the delivery is found again.
  if (state.outboxes.get(key.run_id)?.stage.kind === 'in_flight') return;
  beginAttempt(state, putInOutbox(state, delivery), undefined);
};

/** Deliveries that are being given up without a permit. */
export const countExpiring = ({ attempts }: NotifierState): number =>
  attempts.values().reduce((count, { permit }) => count + (permit ? 0 : 1), 0);

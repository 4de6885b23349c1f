import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { FinalDelivery } from '../delivery/final-delivery.ts';
import {
  emptyOutbox,
  joinIntermediates,
  type IntermediateNotification,
  type Outbox,
} from '../state/outbox.ts';
import type { NotifierState } from '../state/state.ts';
import { postpone, setAlarm } from './deferral.ts';
import { enqueue, withdraw } from './queueing.ts';
import { settleIntermediate } from './settling.ts';

/** A final notification is to be sent. It replaces an intermediate one that waits, and waits for one in flight, which could otherwise arrive after it. */
export const addFinal = (state: NotifierState, delivery: FinalDelivery): void => {
  advance(state, putInOutbox(state, delivery));
};

export const putInOutbox = (state: NotifierState, delivery: FinalDelivery): Outbox => {
  const outbox = outboxOf(state, delivery.key, delivery.origin, delivery.partition);
  outbox.finals.push(delivery);
  if (outbox.intermediate) settleIntermediate(state, outbox.partition, outbox.intermediate);
  outbox.intermediate = undefined;
  if (outbox.stage.kind === 'queued' && !outbox.stage.final) withdraw(state, outbox);
  return outbox;
};

/** An intermediate notification is to be sent. The latest wins, and nothing follows a final one. */
export const addIntermediate = (
  state: NotifierState,
  of: { readonly key: RunKey; readonly origin: string; readonly partition: number },
  notification: IntermediateNotification,
): void => {
  const outbox = outboxOf(state, of.key, of.origin, of.partition);
  if (outbox.finals.length > 0) settleIntermediate(state, of.partition, notification);
  else outbox.intermediate = joinIntermediates(outbox.intermediate, notification);
  advance(state, outbox);
};

/** Queues the next notification of the run, if it is idle. */
export const advance = (state: NotifierState, outbox: Outbox): void => {
  if (outbox.stage.kind !== 'idle' || state.partitions.get(outbox.partition)?.closing) return;
  const { finals, intermediate, notBefore, receiver, key } = outbox;
  const isFinal = finals.length > 0;
  const notYet = isFinal ? notBefore.final : notBefore.intermediate;
  // Kept while it is too early even if there is nothing to send, so that the second between two of them is kept.
  if (notYet > state.moment.at) setAlarm(state, outbox, notYet);
  else if (!isFinal && !intermediate) state.outboxes.delete(key.run_id);
  else if (!enqueue(state, outbox, isFinal)) postpone(state, state.queues.of(receiver), [key.run_id]);
};

const outboxOf = (state: NotifierState, key: RunKey, origin: string, partition: number): Outbox => {
  const present = state.outboxes.get(key.run_id);
  if (present) return present;
  const outbox = emptyOutbox(key, origin, partition);
  state.outboxes.set(key.run_id, outbox);
  return outbox;
};

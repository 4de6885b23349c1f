import { partitionOf } from '@runledger/contracts/deliveries/partition';
import type { FinalDelivery } from '../delivery/final-delivery.ts';
import { takeDelivery, IDLE } from '../state/outbox.ts';
import type { RunId } from '@runledger/contracts/ids';
import { hasWaiting, type ReceiverQueue } from '../receivers/receiver-queues.ts';
import { breakerKey, type Receiver } from '../receivers/receiver.ts';
import type { NotifierInput, Outcome, StoredOpening } from '../state/input.ts';
import { hasFinal, type NotifierState } from '../state/state.ts';
import { AGAIN_MS } from './deferral.ts';
import { addFinal, advance } from './outboxes.ts';
import { schedule, roomOf } from './queueing.ts';
import { endWork, leaveInLog, settle } from './settling.ts';

type Input<Type> = Extract<NotifierInput, { type: Type }>;

/** Has the first deferred deliveries of the receiver read. */
export const load = (state: NotifierState, queue: ReceiverQueue): void => {
  const { deferred, receiver, partition } = queue;
  const room = roomOf(state, queue);
  // A single one is usually a probe: a second one would only be deferred again.
  const max = room === 1 ? 1 : room * 2;
  // For a single one, begin at the start: from a position on, the broker also searches those of other receivers.
  if (max === 1) deferred.after = 0;
  deferred.loaded = 0;
  // A delivery that is deferred from now on may be missed.
  deferred.expected = false;
  state.effects.push({ type: 'load_deferred', partition, receiver, after: deferred.after, max });
};

/** It may be a leftover of a delivery that continued. */
export const deferredFound = (state: NotifierState, delivery: FinalDelivery): void => {
  const partition = state.partitions.get(delivery.partition);
  if (partition && !partition.closing && !hasFinal(state, delivery.key.run_id)) addFinal(state, delivery);
};

export const deferredLoaded = (
  state: NotifierState,
  { receiver, lastSequence, end }: Input<'deferred_loaded'>,
): void => {
  const queue = state.queues.of(receiver);
  const { deferred, partition } = queue;
  const { loaded } = deferred;
  const isEmpty = end === 'nothing_found' && deferred.after === 0 && deferred.deferring === 0;
  if (isEmpty) forgetReminder(state, queue);
  deferred.after = end === 'more' ? lastSequence : 0;
  deferred.loaded = undefined;
  if (!isEmpty && state.partitions.has(partition)) deferred.expected = true;
  if (!hasWaiting(queue)) state.loading.moved(queue);
  // All were in memory, or deferred again at once: loading again now would find the same.
  if (deferred.expected && loaded === 0) state.loading.later(queue);
  schedule(state, queue);
};

const forgetReminder = (state: NotifierState, { deferred, receiver, partition }: ReceiverQueue): void => {
  if (deferred.reminder !== undefined && state.partitions.has(partition))
    state.effects.push({ type: 'remove_opening', partition, receiver, due: deferred.reminder });
  deferred.reminder = undefined;
};

/** Something is deferred at the receiver, and is to be sent when its breaker lets it through. */
export const expectDeferred = (state: NotifierState, receiver: Receiver): void => {
  const queue = state.queues.of(receiver);
  if (queue.health === 'unknown') queue.health = 'failing';
  queue.deferred.expected = true;
  schedule(state, queue);
};

/** The stored time of an opening is over: deferred deliveries of the receiver are loaded. */
export const openingDue = (state: NotifierState, input: Input<'opening_due'>): void => {
  const { origin, org_id, sequence } = input;
  if (input.restore && input.opens > 0) restoreBreaker(state, input);
  if (org_id === null) {
    const partition = partitionOf(origin);
    return void state.effects.push({ type: 'remove_timer', partition, sequence });
  }
  expectDeferred(state, { org_id, origin });
  state.queues.of({ org_id, origin }).deferred.reminder = sequence;
};

/** An opening that is stored is also the reminder of deferred deliveries there. */
export const openingFound = (state: NotifierState, opening: StoredOpening): void => {
  const { origin, org_id, opens } = opening;
  if (opens > 0) restoreBreaker(state, opening);
  if (org_id !== null) state.queues.of({ org_id, origin }).deferred.reminder ??= null;
};

const restoreBreaker = (state: NotifierState, { origin, org_id, opens, until }: StoredOpening): void => {
  const { at, now } = state.moment;
  state.breakers.restore(breakerKey({ org_id, origin }), { opens, until: at + (until - now) }, at);
};

/** The delivery is stored in TIMERS, or could not be. */
export const deferralFinished = (state: NotifierState, run: RunId, { kind }: Outcome): void => {
  const outbox = state.outboxes.get(run);
  if (outbox?.stage.kind !== 'deferring') return;
  const { delivery } = outbox.stage;
  const queue = state.queues.of(outbox.receiver);
  queue.deferred.deferring -= 1;
  outbox.stage = IDLE;
  // Its reminder was not stored either. One that is due stays until it is removed.
  if (kind !== 'stored' && queue.deferred.reminder === null) queue.deferred.reminder = undefined;
  if (kind === 'stored' || kind === 'no_room') takeDelivery(outbox, delivery);
  else outbox.notBefore.final = state.moment.at + AGAIN_MS;
  if (kind === 'no_room') leaveInLog(state, delivery);
  // A loaded delivery is still stored.
  else if (kind === 'stored' && delivery.source.kind !== 'deferred') settle(state, delivery);
  advance(state, outbox);
  schedule(state, queue);
  endWork(state, outbox.partition);
};

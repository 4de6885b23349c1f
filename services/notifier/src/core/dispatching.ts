import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { RunId } from '@runledger/contracts/ids';
import { receiverOfKey, breakerKey, type Receiver } from './receiver.ts';
import { hasWaiting, takeOlder, type ReceiverQueue } from './receiver-queues.ts';
import type { BreakerChange } from './breakers.ts';
import { type NotifierState, takeDelivery, IDLE, hasFinal } from './state.ts';
import { beginAttempt } from './attempts.ts';
import { instantOf, postpone, AGAIN_MS, addFinal, advance, endWork, leaveInLog, settle } from './outboxes.ts';
import { countWaiting, mayLoad, schedule, freePermitsOf } from './queueing.ts';
import type { FinalDelivery } from './delivery.ts';
import type { NotifierInput, Outcome, StoredOpening } from './inputs-and-effects.ts';

/** Starts attempts while there are permits, and then the loading of deferred deliveries. */
export const dispatch = (state: NotifierState): void => {
  while (state.limits.hasFree) {
    const queue = state.turns.next();
    if (!queue) break;
    if (hasWaiting(queue) && freePermitsOf(state, queue) > 0) beginNext(state, queue);
  }
  for (;;) {
    const queue = state.loading.next((one) => mayLoad(state, one));
    if (!queue) return;
    load(state, queue);
  }
};

const beginNext = (state: NotifierState, queue: ReceiverQueue): void => {
  const next = queue.finals.shift() ?? queue.intermediates.shift();
  const outbox = next && state.outboxes.get(next.run);
  countWaiting(state, queue, -1);
  state.loading.moved(queue);
  if (outbox) beginAttempt(state, outbox, state.limits.acquire(queue, state.moment.at));
  schedule(state, queue);
};

/** Reacts to breakers that opened, let a probe through or closed. */
export const followBreakers = (state: NotifierState, { store }: { readonly store: boolean }): void => {
  const changes = state.breakerChanges;
  state.breakerChanges = [];
  for (const change of changes) followBreaker(state, change, store);
};

const followBreaker = (state: NotifierState, { key, state: now }: BreakerChange, store: boolean): void => {
  const { org_id, origin } = receiverOfKey(key);
  const concerned = [...state.queues.at(origin)].filter(
    (queue) => org_id === null || queue.receiver.org_id === org_id,
  );
  for (const queue of concerned) {
    if (now.kind !== 'open') schedule(state, queue);
    else {
      queue.health = 'failing';
      postponeOlder(state, queue, Infinity);
      if (org_id !== null) queue.deferred.reminder ??= null;
    }
  }
  const partition = partitionOf(origin);
  const left = state.partitions.get(partition)?.left.from ?? Infinity;
  if (now.kind !== 'open' && left < Infinity) state.roundWanted = true;
  if (now.kind !== 'open' || !store || !state.partitions.has(partition)) return;
  const opening = { origin, org_id, opens: now.opens, until: instantOf(state, now.until) };
  state.effects.push({ type: 'store_opening', partition, opening });
};

/** Postpones what has waited since before this time. */
export const postponeOlder = (state: NotifierState, queue: ReceiverQueue, than: number): void => {
  const runs = takeOlder(queue, than);
  if (runs.length === 0) return;
  countWaiting(state, queue, -runs.length);
  postpone(state, queue, runs);
};

type Input<Type> = Extract<NotifierInput, { type: Type }>;

/** Has the first deferred deliveries of the receiver read. */
const load = (state: NotifierState, queue: ReceiverQueue): void => {
  const { deferred, receiver, partition } = queue;
  const free = freePermitsOf(state, queue);
  // A single one is usually a probe: a second one would only be deferred again.
  const max = free === 1 ? 1 : free * 2;
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

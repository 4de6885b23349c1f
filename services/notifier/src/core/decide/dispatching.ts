import { partitionOf } from '@runledger/contracts/deliveries/partition';
import { receiverOfKey } from '../receivers/receiver.ts';
import { hasWaiting, takeOlder, type ReceiverQueue } from '../receivers/receiver-queues.ts';
import type { BreakerChange } from '../breakers/breakers.ts';
import type { NotifierState } from '../state/state.ts';
import { beginAttempt } from './attempts.ts';
import { instantOf, postpone } from './deferral.ts';
import { countWaiting, mayLoad, schedule, roomOf } from './queueing.ts';
import { load } from './loading.ts';

/** Starts attempts while there are permits, and then the loading of deferred deliveries. */
export const dispatch = (state: NotifierState): void => {
  while (state.limits.hasFree) {
    const queue = state.turns.next();
    if (!queue) break;
    if (hasWaiting(queue) && roomOf(state, queue) > 0) beginNext(state, queue);
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

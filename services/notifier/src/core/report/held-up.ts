import type { HeldUpBy } from '@runledger/contracts/requests/receivers';
import { isBlocked, roomOf } from '../decide/queueing.ts';
import { receiverKey, type Receiver } from '../receivers/receiver.ts';
import { hasWaiting, type ReceiverQueue } from '../receivers/receiver-queues.ts';
import type { NotifierState } from '../state/state.ts';

/** What keeps notifications of the receiver from being sent now; undefined when nothing in memory does. */
export const heldUpBy = (state: NotifierState, queue: ReceiverQueue): HeldUpBy | undefined => {
  const { limits, breakers } = state;
  const { receiver, health, deferred } = queue;
  if (isBlocked(state, receiver)) return 'breaker';
  if (!hasWaiting(queue) && !deferred.expected) return undefined;
  if (roomOf(state, queue) <= 0) {
    const isProbing = [queue.key, receiver.origin].some((key) => breakers.state(key).kind === 'probing');
    return isProbing ? 'probe' : 'receiver_limit';
  }
  if (!limits.hasFree) return 'notifier_limit';
  if (!limits.hasFreeOf(receiver.org_id, health)) return 'organisation_limit';
  return limits.hasFreeFor(health) ? undefined : 'notifier_limit';
};

/** How many attempts of the receiver may be in flight now, whatever those of others are. */
export const maxInFlight = ({ breakers }: NotifierState, receiver: Receiver, limit: number): number =>
  [breakers.state(receiverKey(receiver)), breakers.state(receiver.origin)].reduce((most, breaker) => {
    if (breaker.kind === 'open') return 0;
    return breaker.kind === 'probing' ? Math.min(most, breaker.limit) : most;
  }, limit);

import { hasWaiting, type ReceiverQueue, type Waiting } from './receiver-queues.ts';
import { receiverKey, type Receiver } from './receiver.ts';
import { IDLE, type Outbox, type NotifierState } from './state.ts';

/** Waiting at one receiver, in memory. What is beyond it is deferred. */
const MAX_AT_RECEIVER = 2_000;
const MAX_WAITING = 50_000;

/** Deliveries of one receiver that the reconciliation has waiting here. The next round finds the others. */
const MAX_FROM_LOG = 500;
const MAX_FROM_LOG_UNPROVEN = 2;

/** Whether the breaker of the receiver or of its origin is open. */
export const isBlocked = ({ breakers }: NotifierState, receiver: Receiver): boolean =>
  breakers.state(receiverKey(receiver)).kind === 'open' || breakers.state(receiver.origin).kind === 'open';

/** Whether the reconciliation may add a delivery that only the log holds. Those in TIMERS are older and go first. */
export const readsFromLog = (state: NotifierState, receiver: Receiver): boolean => {
  if (isBlocked(state, receiver) || state.waiting >= MAX_WAITING) return false;
  const queue = state.queues.find(receiver);
  if (!queue) return true;
  const most = queue.health === 'healthy' ? MAX_FROM_LOG : MAX_FROM_LOG_UNPROVEN;
  return !queue.deferred.expected && queue.finals.length < most;
};

/** How many more attempts may be in flight at the receiver now. */
export const freePermitsOf = ({ breakers, limits }: NotifierState, queue: ReceiverQueue): number => {
  const { receiver, key, inFlight, limit } = queue;
  const origin = breakers.state(receiver.origin);
  const own = breakers.state(key);
  if (origin.kind === 'open' || own.kind === 'open') return 0;
  const free = Math.min(limit, own.kind === 'probing' ? own.limit : limit) - inFlight;
  return origin.kind === 'probing' ? Math.min(free, origin.limit - limits.atOrigin(receiver.origin)) : free;
};

/** Whether deferred deliveries of the receiver are to be loaded now. */
export const mayLoad = (state: NotifierState, queue: ReceiverQueue): boolean => {
  const { expected, loaded } = queue.deferred;
  const partition = state.partitions.get(queue.partition);
  const isHeld = partition !== undefined && !partition.closing;
  return isHeld && expected && loaded === undefined && !hasWaiting(queue) && freePermitsOf(state, queue) > 0;
};

/** Gives the receiver a turn if it may send or load. To be called after each change to its queue, permits or breakers. */
export const schedule = (state: NotifierState, queue: ReceiverQueue): void => {
  if (hasWaiting(queue)) {
    if (freePermitsOf(state, queue) > 0) state.turns.add(queue);
  } else if (!queue.deferred.expected) state.queues.release(queue);
  else if (!state.loading.isLater(queue) && mayLoad(state, queue)) state.loading.add(queue);
};

/** Puts the next notification of a run into the queue of its receiver. False when that is blocked or full. */
export const enqueue = (state: NotifierState, outbox: Outbox, final: boolean): boolean => {
  const queue = state.queues.of(outbox.receiver);
  const blocked = isBlocked(state, outbox.receiver);
  if (blocked) queue.health = 'failing';
  const waiting = listOf(queue, final);
  const isFull = waiting.length >= MAX_AT_RECEIVER || (state.waiting >= MAX_WAITING && hasWaiting(queue));
  if (blocked || isFull) return false;
  outbox.stage = { kind: 'queued', final };
  waiting.push({ run: outbox.key.run_id, since: state.moment.at });
  if (queue.deferred.loaded !== undefined) queue.deferred.loaded += 1;
  countWaiting(state, queue, 1);
  schedule(state, queue);
  return true;
};

/** Takes the run out of the queue: its final notification comes first. */
export const withdraw = (state: NotifierState, outbox: Outbox): void => {
  const { stage, key, receiver } = outbox;
  const queue = state.queues.find(receiver);
  if (stage.kind !== 'queued' || !queue) return;
  const waiting = listOf(queue, stage.final);
  waiting.splice(
    waiting.findIndex(({ run }) => run === key.run_id),
    1,
  );
  outbox.stage = IDLE;
  countWaiting(state, queue, -1);
  schedule(state, queue);
};

export const countWaiting = (state: NotifierState, queue: ReceiverQueue, by: number): void => {
  state.waiting += by;
  if (hasWaiting(queue)) state.withWaiting.add(queue);
  else {
    state.withWaiting.delete(queue);
    state.loading.moved(queue);
  }
};

const listOf = (queue: ReceiverQueue, final: boolean): Waiting[] =>
  final ? queue.finals : queue.intermediates;

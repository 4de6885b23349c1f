import type { RunKey } from '@runledger/contracts/events/subjects';
import type { RunId } from '@runledger/contracts/ids';
import type { FinalDelivery } from './delivery.ts';
import {
  emptyOutbox,
  joinIntermediates,
  type IntermediateNotification,
  type Outbox,
  type NotifierState,
  IDLE,
  takeDelivery,
  type IntermediateSources,
} from './state.ts';
import { enqueue, withdraw, schedule } from './queueing.ts';
import type { ReceiverQueue } from './receiver-queues.ts';
import type { StoredOpening } from './inputs-and-effects.ts';
import { withOverflowAt } from './partition.ts';

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

/** A notification that could not be sent is queued again after this time. */
export const AGAIN_MS = 15_000;
/** When the queue of a receiver is full, its deferred deliveries are loaded after this time at the latest. */
const LOAD_WITHIN_MS = 30_000;
/** With more outboxes than this, postponed intermediate notifications are dropped, and final ones stay where they are stored. */
const MAX_OUTBOXES = 50_000;
/** Of one receiver at the same time. */
const MAX_DEFERRING = 1_000;

/** These runs have to wait: the breaker of their receiver is open, or its queue is full. */
export const postpone = (state: NotifierState, queue: ReceiverQueue, runs: readonly RunId[]): void => {
  for (const run of runs) {
    const outbox = state.outboxes.get(run);
    const next = outbox?.finals[0];
    if (!outbox) continue;
    if (!next) postponeIntermediate(state, outbox);
    else if (staysWhereItIs(state, queue, next)) dropFromMemory(state, queue, outbox, next);
    else defer(state, queue, outbox, next);
  }
  schedule(state, queue);
};

/** What is stored need not be written again: too many at once would take more memory than there is. */
const staysWhereItIs = (
  { outboxes }: NotifierState,
  { deferred }: ReceiverQueue,
  { source }: FinalDelivery,
): boolean => {
  const isCrowded = deferred.deferring >= MAX_DEFERRING || outboxes.size > MAX_OUTBOXES;
  return source.kind === 'log' || (source.kind !== 'deferred' && isCrowded);
};

/** The reconciliation finds what the log holds. What is due in TIMERS is loaded with the deferred deliveries of the receiver. */
const dropFromMemory = (
  state: NotifierState,
  queue: ReceiverQueue,
  outbox: Outbox,
  delivery: FinalDelivery,
): void => {
  if (delivery.source.kind === 'due') {
    queue.deferred.expected = true;
    state.loading.later(queue);
  } else leaveInLog(state, delivery);
  outbox.stage = IDLE;
  takeDelivery(outbox, delivery);
  if (outbox.finals.length > 0) setAlarm(state, outbox, state.moment.at);
  else state.outboxes.delete(outbox.key.run_id);
};

/** The final delivery is stored in TIMERS, where it takes no memory and no permit. */
const defer = (state: NotifierState, queue: ReceiverQueue, outbox: Outbox, delivery: FinalDelivery): void => {
  const { deferred } = queue;
  deferred.expected = true;
  state.loading.later(queue);
  const reminder = deferred.reminder === undefined ? reminderOf(state, queue) : undefined;
  deferred.reminder ??= null;
  deferred.deferring += 1;
  beginWork(state, outbox.partition);
  outbox.stage = { kind: 'deferring', delivery };
  state.effects.push({ type: 'defer_delivery', delivery, reminder });
};

/** Becomes due for the holder of the partition at that time. */
const reminderOf = (state: NotifierState, { receiver, key }: ReceiverQueue): StoredOpening => {
  const { breakers, moment } = state;
  const own = breakers.state(key);
  const origin = breakers.state(receiver.origin);
  if (own.kind === 'open') return { ...receiver, opens: own.opens, until: instantOf(state, own.until) };
  const until = origin.kind === 'open' ? instantOf(state, origin.until) : moment.now + LOAD_WITHIN_MS;
  return { ...receiver, opens: 0, until };
};

/** The next change may be hours away, so one that could not be sent is sent again later. It is kept in memory only: a restart must not begin that far back. */
export const retryIntermediate = (
  state: NotifierState,
  outbox: Outbox,
  { atLeast, ...sources }: IntermediateNotification,
): void => {
  // The next holder reads them again.
  if (state.partitions.get(outbox.partition)?.closing) return;
  settleIntermediate(state, outbox.partition, sources);
  outbox.notBefore.intermediate = state.moment.at + AGAIN_MS;
  if (outbox.finals.length > 0 || state.outboxes.size > MAX_OUTBOXES) return;
  outbox.intermediate ??= { atLeast, runs: [], activity: [] };
};

const postponeIntermediate = (state: NotifierState, outbox: Outbox): void => {
  const { intermediate } = outbox;
  outbox.stage = IDLE;
  outbox.intermediate = undefined;
  if (intermediate) retryIntermediate(state, outbox, intermediate);
  if (outbox.intermediate) setAlarm(state, outbox, outbox.notBefore.intermediate);
  else state.outboxes.delete(outbox.key.run_id);
};

const setAlarm = (state: NotifierState, outbox: Outbox, at: number): void => {
  if (outbox.alarmAt <= at) return;
  outbox.alarmAt = at;
  state.alarms.push({ at, run: outbox.key.run_id });
};

/** Monotonic time as milliseconds since 1970. */
export const instantOf = ({ moment }: NotifierState, at: number): number => moment.now + (at - moment.at);

/** The source of the delivery is not needed any more. */
export const settle = (state: NotifierState, { source, partition }: FinalDelivery): void => {
  const { kind, sequence } = source;
  if (kind === 'fact') state.partitions.get(partition)?.runs.settle(sequence);
  else if (kind !== 'log') state.effects.push({ type: 'remove_timer', partition, sequence });
};

/** It is not stored in TIMERS. Its fact stays in the log, where the reconciliation finds it. */
export const leaveInLog = (state: NotifierState, delivery: FinalDelivery): void => {
  const held = state.partitions.get(delivery.partition);
  // What the reconciliation found counts as left until it is settled.
  if (held && delivery.source.kind === 'fact') held.left = withOverflowAt(held.left, delivery.fact);
  if (held?.round && delivery.source.kind === 'fact')
    held.round.left = withOverflowAt(held.round.left, delivery.fact);
  settle(state, delivery);
};

/** The facts and the progress need no further notification. */
export const settleIntermediate = (
  state: NotifierState,
  partition: number,
  sources: IntermediateSources,
): void => {
  const held = state.partitions.get(partition);
  for (const sequence of sources.runs) held?.runs.settle(sequence);
  for (const sequence of sources.activity) held?.activity.settle(sequence);
};

/** Work has started in the partition, which is not handed over before it ends. */
export const beginWork = (state: NotifierState, partition: number): void => {
  const held = state.partitions.get(partition);
  if (held) held.busy += 1;
};

export const endWork = (state: NotifierState, partition: number): void => {
  const held = state.partitions.get(partition);
  if (!held) return;
  held.busy -= 1;
  if (held.closing && held.busy === 0) state.effects.push({ type: 'partition_idle', partition });
};

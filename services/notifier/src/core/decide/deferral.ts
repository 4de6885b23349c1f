import type { RunId } from '@runledger/contracts/ids';
import type { FinalDelivery } from '../delivery/final-delivery.ts';
import type { ReceiverQueue } from '../receivers/receiver-queues.ts';
import type { StoredOpening } from '../state/input.ts';
import { IDLE, takeDelivery, type IntermediateNotification, type Outbox } from '../state/outbox.ts';
import type { NotifierState } from '../state/state.ts';
import { schedule } from './queueing.ts';
import { beginWork, leaveInLog, settleIntermediate } from './settling.ts';

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

export const setAlarm = (state: NotifierState, outbox: Outbox, at: number): void => {
  if (outbox.alarmAt <= at) return;
  outbox.alarmAt = at;
  state.alarms.push({ at, run: outbox.key.run_id });
};

/** Monotonic time as milliseconds since 1970. */
export const instantOf = ({ moment }: NotifierState, at: number): number => moment.now + (at - moment.at);

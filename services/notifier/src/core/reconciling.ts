import type { RunId } from '@runledger/contracts/ids';
import type { FinalDelivery } from './delivery.ts';
import { receiverKey } from './receiver.ts';
import type { EndMessage, ReconciliationInput } from './inputs-and-effects.ts';
import { withOverflowAt, NO_OVERFLOW, type Partition } from './partition.ts';
import { hasFinal, type NotifierState } from './state.ts';
import { beginAttempt } from './attempts.ts';
import { expectDeferred } from './dispatching.ts';
import { addFinal, putInOutbox } from './outboxes.ts';
import { isBlocked, readsFromLog } from './queueing.ts';
import { expiresAtOf } from './partitions.ts';

type Input<Type> = Extract<ReconciliationInput, { type: Type }>;

export const roundBegun = (state: NotifierState, { partitions }: Input<'round_begun'>): void => {
  state.roundWanted = false;
  for (const number of partitions) {
    const held = state.partitions.get(number);
    if (held) held.round = { upTo: held.runs.low(), firstUnsettled: Infinity, left: NO_OVERFLOW };
  }
};

/** The reconciliation has found a final notification that no fact settles. What only the log holds is sent, or given up, from there. */
export const unsettledFound = (state: NotifierState, input: Input<'unsettled_found'>): void => {
  const { partition, key, origin, sequence, found } = input;
  const held = state.partitions.get(partition);
  if (!held?.round) return;
  const { round } = held;
  round.firstUnsettled = Math.min(round.firstUnsettled, sequence);
  const receiver = { org_id: key.org_id, origin };
  if (hasFinal(state, key.run_id)) {
    if (isFromLog(state, key.run_id)) round.left = withOverflowAt(round.left, sequence);
  } else if (found.kind === 'timer') {
    // Its reminder may have been lost with a process.
    if (found.isDeferred) expectDeferred(state, receiver);
  } else if (found.kind === 'overdue') addFinal(state, found.delivery);
  else if (found.kind === 'outside') {
    round.left = withOverflowAt(round.left, sequence);
    const delivery = fromLog(state, held, input, found.round);
    const isOver = isGivenUp(state, delivery);
    const isEarly = isBeforeRetry(state, key.run_id);
    // The next round sends more of them, or sees that these are settled.
    if (isOver || !(isEarly || isBlocked(state, receiver))) state.roundWanted = true;
    if (isOver) expiredFound(state, delivery);
    else if (!isEarly && readsFromLog(state, receiver)) addFinal(state, delivery);
  }
};

/** Whether a delivery in the overflow has to wait there: it or its receiver takes no attempt now, and its time is not over. */
export const waitsInLog = (state: NotifierState, message: EndMessage): boolean => {
  const { partition, key, origin, sequence } = message;
  const held = state.partitions.get(partition);
  if (!held || sequence < held.left.from) return false;
  const receiver = { org_id: key.org_id, origin };
  if (readsFromLog(state, receiver) && !isBeforeRetry(state, key.run_id)) return false;
  return !isGivenUp(state, {
    key,
    origin,
    attempts: attemptsOf(state, key.run_id),
    expiresAt: expiresAtOf(state, message),
  });
};

/**
 * Whether nothing is attempted any more. Its time may have passed while the notifier or the broker was away, or behind a breaker that
 * the receiver's return did not close yet: without a failed attempt since then, its own or another at the receiver, it is attempted.
 */
const isGivenUp = (
  { breakers, moment }: NotifierState,
  { key, origin, attempts, expiresAt }: Pick<FinalDelivery, 'key' | 'origin' | 'attempts' | 'expiresAt'>,
): boolean => {
  if (expiresAt > moment.now) return false;
  const expiredAt = moment.at - (moment.now - expiresAt);
  const own = receiverKey({ org_id: key.org_id, origin });
  return (
    attempts > 0 || [own, origin].some((one) => (breakers.find(one)?.failedAt ?? -Infinity) >= expiredAt)
  );
};

const attemptsOf = ({ leftRetries }: NotifierState, run: RunId): number => leftRetries.of(run)?.attempts ?? 0;

const isBeforeRetry = ({ leftRetries, moment }: NotifierState, run: RunId): boolean =>
  (leftRetries.of(run)?.at ?? -Infinity) > moment.now;

const isFromLog = ({ outboxes }: NotifierState, run: RunId): boolean =>
  outboxes.get(run)?.finals.some(({ source }) => source.kind === 'log') ?? false;

const fromLog = (
  state: NotifierState,
  partition: Partition,
  { key, origin, sequence, ...times }: Input<'unsettled_found'>,
  round: number,
): FinalDelivery => ({
  key,
  origin,
  partition: partition.number,
  round,
  attempts: attemptsOf(state, key.run_id),
  expiresAt: expiresAtOf(state, times),
  fact: sequence,
  source: { kind: 'log', sequence },
  mayBeSuperseded: true,
});

export const checkedUpTo = (state: NotifierState, { partitions, sequence }: Input<'checked_up_to'>): void => {
  for (const number of partitions) {
    const held = state.partitions.get(number);
    if (!held?.round) continue;
    const { upTo, firstUnsettled } = held.round;
    held.sweptUpTo = Math.max(held.sweptUpTo, Math.min(sequence, upTo, firstUnsettled - 1));
  }
};

export const roundEnded = (state: NotifierState, { partitions }: Input<'round_ended'>): void => {
  for (const number of partitions) {
    const held = state.partitions.get(number);
    if (!held?.round) continue;
    const { upTo, firstUnsettled, left } = held.round;
    held.sweptUpTo = Math.max(held.sweptUpTo, Math.min(upTo, firstUnsettled - 1));
    held.left = left;
    held.round = undefined;
  }
};

/** A delivery is given up without a permit: nothing is sent. What is to be attempted first stays where it is. */
export const expiredFound = (state: NotifierState, delivery: FinalDelivery): void => {
  const held = state.partitions.get(delivery.partition);
  const { run_id } = delivery.key;
  if (!held || held.closing || hasFinal(state, run_id) || !isGivenUp(state, delivery)) return;
  // An intermediate notification is in flight: the delivery is found again.
  if (state.outboxes.get(run_id)?.stage.kind === 'in_flight') return;
  beginAttempt(state, putInOutbox(state, delivery), undefined);
};

/** Deliveries that are being given up without a permit. */
export const countExpiring = ({ attempts }: NotifierState): number =>
  attempts.values().reduce((count, { permit }) => count + (permit ? 0 : 1), 0);

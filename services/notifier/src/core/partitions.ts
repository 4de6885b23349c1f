import type { PartitionPosition } from '@runledger/contracts/deliveries/timers';
import { IDLE, type NotifierState } from './state.ts';
import { NO_RECORD, receiverKey, type Receiver } from './receiver.ts';
import {
  LowWatermark,
  isSamePosition,
  NO_OVERFLOW,
  positionOf,
  startPartition,
  type PartitionStart,
  type Partition,
} from './partition.ts';
import { countWaiting } from './queueing.ts';
import type { EndMessage, RunInput, RunMessage } from './inputs-and-effects.ts';
import { logEndOf } from './delivery.ts';
import { addFinal, addIntermediate } from './outboxes.ts';

/** Continues a partition where its last holder stopped. */
export const gainPartition = (state: NotifierState, start: PartitionStart): void => {
  state.partitions.set(start.number, startPartition(start));
};

/** Empties the queues. `partition_idle` follows when the work in flight has ended. */
export const closePartition = (state: NotifierState, number: number): void => {
  const partition = state.partitions.get(number);
  if (!partition) return;
  partition.closing = true;
  // Nothing that it finds is taken from now on, so it must not count as having found nothing.
  partition.round = undefined;
  for (const queue of [...state.withWaiting].filter((one) => one.partition === number)) {
    const waiting = [...queue.finals.splice(0), ...queue.intermediates.splice(0)];
    for (const { run } of waiting) {
      const outbox = state.outboxes.get(run);
      if (outbox) outbox.stage = IDLE;
    }
    countWaiting(state, queue, -waiting.length);
  }
  if (partition.busy === 0) state.effects.push({ type: 'partition_idle', partition: number });
};

export const losePartition = (state: NotifierState, number: number): void => {
  state.partitions.delete(number);
  for (const [run, outbox] of state.outboxes) if (outbox.partition === number) state.outboxes.delete(run);
  for (const queue of [...state.queues.all()].filter((one) => one.partition === number)) {
    queue.deferred.expected = false;
    queue.deferred.after = 0;
    queue.deferred.reminder = undefined;
    // Another notifier continues it.
    queue.record = NO_RECORD;
    state.queues.release(queue);
  }
};

/** The log is shorter than it was. All of RUNS is read again, since other facts may have the same sequences now. */
export const shortenLog = (state: NotifierState, stream: 'runs' | 'activity', lastSequence: number): void => {
  for (const partition of state.partitions.values()) {
    // Only new progress matters.
    if (stream === 'activity') partition.activity = new LowWatermark(lastSequence);
    else {
      partition.runs = new LowWatermark(0);
      partition.sweptUpTo = 0;
      partition.round = undefined;
      partition.left = NO_OVERFLOW;
      partition.mayBeSupersededUpTo = Infinity;
    }
  }
};

/** Has the positions stored that have changed. */
export const storePositions = (state: NotifierState): void => {
  for (const partition of state.partitions.values()) {
    const position = positionOf(partition);
    if (partition.isStoring || partition.closing || isSamePosition(partition.stored, position)) continue;
    partition.isStoring = true;
    state.effects.push({ type: 'store_position', partition: partition.number, position });
  }
};

export const positionStored = (
  state: NotifierState,
  number: number,
  position: PartitionPosition | null,
): void => {
  const partition = state.partitions.get(number);
  if (!partition) return;
  partition.isStoring = false;
  if (position) partition.stored = position;
};

type Stream = 'runs' | 'activity';

/** A run has ended, or a redelivery of its final notification was requested. */
export const runEnded = (
  state: NotifierState,
  message: EndMessage,
  { round }: { readonly round: number },
): void => {
  const { key, origin, sequence } = message;
  takeMessage(state, message, 'runs', (partition) => {
    // A redelivery begins with its first attempt, and whoever wants it expects the receiver to work again.
    state.leftRetries.forget(key.run_id);
    if (round > 1) expectRecovery(state, { org_id: key.org_id, origin });
    addFinal(state, {
      key,
      origin,
      partition: partition.number,
      round,
      attempts: 0,
      expiresAt: expiresAtOf(state, message),
      fact: sequence,
      source: { kind: 'fact', sequence },
      mayBeSuperseded: round > 1 || sequence <= partition.mayBeSupersededUpTo,
    });
  });
};

const expectRecovery = ({ breakers, moment }: NotifierState, receiver: Receiver): void => {
  breakers.endSoon(receiver.origin, moment.at);
  breakers.endSoon(receiverKey(receiver), moment.at);
};

/** Its facts must still be there: a notification is made from them, and who asks to have it sent again needs them too. */
export const expiresAtOf = (
  { settings, logAgeMs }: NotifierState,
  { time, oldestFactAt }: Pick<EndMessage, 'time' | 'oldestFactAt'>,
): number => Math.min(time + settings.giveUpAfterMs, logEndOf(oldestFactAt, logAgeMs));

/** A run that has not ended changed, and wants intermediate notifications. */
export const runChanged = (state: NotifierState, message: RunMessage, stream: Stream): void => {
  const { sequence } = message;
  takeMessage(state, message, stream, () =>
    addIntermediate(
      state,
      message,
      stream === 'runs'
        ? { atLeast: sequence, runs: [sequence], activity: [] }
        : { atLeast: 0, runs: [], activity: [sequence] },
    ),
  );
};

/** Messages come in order. One that was taken before is dropped. */
const takeMessage = (
  state: NotifierState,
  { partition, sequence }: RunMessage,
  stream: Stream,
  add: (partition: Partition) => void,
): void => {
  const held = state.partitions.get(partition);
  if (!held || held.closing || sequence <= held[stream].taken()) return;
  held[stream].open(sequence);
  add(held);
  held[stream].take(sequence);
};

export const readUpTo = (
  state: NotifierState,
  { stream, sequence, partitions }: Extract<RunInput, { type: 'read_up_to' }>,
): void => {
  for (const number of partitions) {
    const held = state.partitions.get(number);
    if (held && !held.closing) held[stream].take(sequence);
  }
};

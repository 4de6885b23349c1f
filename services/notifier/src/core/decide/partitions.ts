import type { PartitionPosition } from '@runledger/contracts/deliveries/timers';
import { IDLE } from '../state/outbox.ts';
import { NO_RECORD } from '../receivers/receiver-record.ts';
import { LowWatermark } from '../state/low-watermark.ts';
import {
  isSamePosition,
  NOTHING_LEFT,
  positionOf,
  startPartition,
  type PartitionStart,
} from '../state/partition.ts';
import type { NotifierState } from '../state/state.ts';
import { countWaiting } from './queueing.ts';

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
      partition.left = NOTHING_LEFT;
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

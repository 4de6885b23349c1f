import type { FinalDelivery } from '../delivery/final-delivery.ts';
import type { IntermediateSources } from '../state/outbox.ts';
import { alsoLeft } from '../state/partition.ts';
import type { NotifierState } from '../state/state.ts';

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
  if (held && delivery.source.kind === 'fact') held.left = alsoLeft(held.left, delivery.fact);
  if (held?.round && delivery.source.kind === 'fact')
    held.round.left = alsoLeft(held.round.left, delivery.fact);
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

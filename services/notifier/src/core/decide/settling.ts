import type { FinalDelivery } from '../delivery/final-delivery.ts';
import type { NewsSources } from '../state/outbox.ts';
import type { NotifierState } from '../state/state.ts';

/** What stood for the delivery stands for it no longer. */
export const settle = (state: NotifierState, { source, partition }: FinalDelivery): void => {
  const { kind, sequence } = source;
  if (kind === 'fact') state.partitions.get(partition)?.runs.settle(sequence);
  else state.effects.push({ type: 'remove_timer', partition, sequence });
};

/** The facts and the progress have nothing more to say. */
export const settleNews = (state: NotifierState, partition: number, sources: NewsSources): void => {
  const held = state.partitions.get(partition);
  for (const sequence of sources.runs) held?.runs.settle(sequence);
  for (const sequence of sources.activity) held?.activity.settle(sequence);
};

/** Something is under way in the partition: it is not given away before it is over. */
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

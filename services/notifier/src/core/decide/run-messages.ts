import type { EndMessage, RunInput, RunMessage } from '../state/input.ts';
import type { Partition } from '../state/partition.ts';
import type { NotifierState } from '../state/state.ts';
import { logEndOf } from '../delivery/log-end.ts';
import { receiverKey, type Receiver } from '../receivers/receiver.ts';
import { addFinal, addIntermediate } from './outboxes.ts';

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

import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunMessages } from '../messages/run-messages.ts';

const MOST_ROUNDS = 5;

/**
 * Every message of RUNS under a fence, hidden ones too, from the stream's leader, one by one: slow and right. It begins
 * where the caller knows the first one to be, never at the beginning of the log, since a search through the log would
 * hold up its writers. Undefined when there are more than `most`.
 */
export const readAllUnder = async (
  messages: RunMessages,
  filter: string,
  { from, most }: { readonly from: number; readonly most: number },
): Promise<StoredMessage[] | undefined> => {
  const head = await messages.lastSequence(filter);
  let start = from;
  for (let round = 1; ; round += 1) {
    const found = await walk(messages, filter, { start, head, most });
    if (found === undefined) return undefined;
    const before = earliest(found, filter, start);
    if (before >= start || round === MOST_ROUNDS) return found;
    // A message rests on an earlier one that was hidden until now.
    start = before;
  }
};

/** The first sequence that the messages are at or rest on. Only under the run's own fence did the broker check the latter. */
export const earliest = (messages: readonly StoredMessage[], filter: string, otherwise: number): number =>
  messages.reduce((first, { sequence, fence, expectedSequence }) => {
    const restsOn = fence === filter && expectedSequence !== null ? expectedSequence : 0;
    return Math.min(first, sequence, restsOn > 0 ? restsOn : sequence);
  }, otherwise);

const walk = async (
  messages: RunMessages,
  filter: string,
  { start, head, most }: { readonly start: number; readonly head: number; readonly most: number },
): Promise<StoredMessage[] | undefined> => {
  const found: StoredMessage[] = [];
  for (let at = start; at <= head;) {
    const message = await messages.next(filter, at);
    if (!message) break;
    if (found.push(message) > most) return undefined;
    at = message.sequence + 1;
  }
  return found;
};

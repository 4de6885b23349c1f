import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { LogUnavailable } from '../connect/event-log.ts';
import type { RunMessages } from '../messages/run-messages.ts';

const MAX_ROUNDS = 5;

interface Span {
  readonly from: number;
  /** Of the chain that the messages under the filter are in; the filter itself if it is left out. */
  readonly fence?: string;
  /** The last sequence that matters; the last one under the filter if it is left out. */
  readonly upTo?: number;
  readonly most: number;
}

/**
 * Every message of RUNS under a filter, including hidden ones, from the stream's leader, one by one: slow and correct. It begins
 * at the first message that the caller knows, never at the beginning of the log, because a search through the log would
 * delay its writers. Undefined for more than `most` messages.
 */
export const readAllUnder = async (
  messages: RunMessages,
  filter: string,
  { from, fence = filter, upTo = Infinity, most }: Span,
): Promise<StoredMessage[] | undefined> => {
  const last = (await messages.last(filter))?.sequence ?? 0;
  const head = Math.min(last, upTo);
  let start = from;
  for (let round = 1; ; round += 1) {
    const found = await walk(messages, filter, { start, head, most });
    if (found === undefined) return undefined;
    const before = earliest(found, fence, start);
    if (before >= start || round === MAX_ROUNDS) return found;
    // A message is fenced on an earlier one that was hidden until now.
    start = before;
  }
};

/** The first sequence among the messages and those they are fenced on. The broker checked only the run's own fence. */
export const earliest = (messages: readonly StoredMessage[], filter: string, otherwise: number): number =>
  messages.reduce((first, { sequence, fence, expectedSequence }) => {
    const fencedOn = fence === filter && expectedSequence !== null ? expectedSequence : 0;
    return Math.min(first, sequence, fencedOn > 0 ? fencedOn : sequence);
  }, otherwise);

const walk = async (
  messages: RunMessages,
  filter: string,
  { start, head, most }: { readonly start: number; readonly head: number; readonly most: number },
): Promise<StoredMessage[] | undefined> => {
  const found: StoredMessage[] = [];
  for (let at = start; at <= head;) {
    const message = await messages.next(filter, at);
    // Another leader gave the head, or the run has expired meanwhile.
    if (!message) throw new LogUnavailable(`reading ${filter}: the leader does not have message ${head}`);
    if (message.sequence > head) break;
    if (found.push(message) > most) return undefined;
    at = message.sequence + 1;
  }
  return found;
};

import { EMPTY_HISTORY, readHistory } from '@runledger/contracts/history';
import type { ReadHistory, StoredMessage } from '@runledger/contracts/history';
import { lifecycleOf, type RunKey } from '@runledger/contracts/subjects';
import { lastSequence, nextUnder } from './ask-leader.ts';
import type { EventLog } from './event-log.ts';
import { fromStored } from './stored-message.ts';

/** A run has 5 to 7 messages; with 100 attempts, some hundreds. What is beyond this was forged. */
const MOST_MESSAGES = 2_000;
const MOST_ROUNDS = 5;

/**
 * Every message under the run's lifecycle, hidden ones too, from the stream's leader, one by one: slow and right.
 * It begins at the first sequence that is known of the run, never at the beginning of the log, since a search
 * through the log would hold up its writers.
 */
export const readWholeRun = async (
  log: EventLog,
  key: RunKey,
  known: readonly StoredMessage[],
): Promise<ReadHistory> => {
  const filter = lifecycleOf(key);
  const head = await lastSequence(log, 'RUNS', filter);
  if (head === 0) return { kind: 'whole', history: EMPTY_HISTORY, facts: [], refused: [] };

  const queued = await next(log, 1, `${filter.slice(0, -1)}queued.gateway.0.none`);
  let start = earliest([...known, ...(queued ? [queued] : [])], filter, head);
  for (let round = 1; ; round += 1) {
    const messages = await walk(log, filter, start, head);
    if (messages === undefined) return tooMany(key, head);
    const read = readHistory(key, messages);
    const before = earliest(messages, filter, start);
    if (before >= start || round === MOST_ROUNDS) return read;
    // A message rests on an earlier one that was hidden until now.
    start = before;
  }
};

/** The first sequence that the messages are at or rest on. Only under the run's own fence did the broker check the latter. */
const earliest = (messages: readonly StoredMessage[], filter: string, otherwise: number): number =>
  messages.reduce((first, { sequence, fence, expectedSequence }) => {
    const restsOn = fence === filter && expectedSequence !== null ? expectedSequence : 0;
    return Math.min(first, sequence, restsOn > 0 ? restsOn : sequence);
  }, otherwise);

const walk = async (
  log: EventLog,
  filter: string,
  start: number,
  head: number,
): Promise<StoredMessage[] | undefined> => {
  const messages: StoredMessage[] = [];
  for (let at = start; at <= head;) {
    const message = await next(log, at, filter);
    if (!message) break;
    if (messages.push(message) > MOST_MESSAGES) return undefined;
    at = message.sequence + 1;
  }
  return messages;
};

const next = async (log: EventLog, from: number, filter: string): Promise<StoredMessage | undefined> => {
  const message = await nextUnder(log, 'RUNS', from, filter);
  return message ? fromStored(message) : undefined;
};

const tooMany = (key: RunKey, head: number): ReadHistory => ({
  kind: 'damaged',
  why: `run ${key.run_id} has more than ${MOST_MESSAGES} messages, most of which cannot be its own`,
  after: 0,
  expected: 0,
  sequence: head,
});

import { EMPTY_HISTORY, readHistory } from '@runledger/contracts/fold/run-chain';
import type { ReadHistory, StoredMessage } from '@runledger/contracts/fold/run-chain';
import { lifecycleFilter, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { readAllUnder, earliest } from './read-all-under.ts';
import { lastSequence, nextMessage } from './leader-read.ts';
import type { EventLog } from '../connect/event-log.ts';
import { fromStored } from './stored-message.ts';

/** A run has 5 to 7 messages; with 100 attempts, some hundreds. What is beyond this was forged. */
const MOST_MESSAGES = 2_000;

/** Every message under the run's lifecycle, hidden ones too, from the first sequence that is known of the run. */
export const readWholeRun = async (
  log: EventLog,
  key: RunKey,
  known: readonly StoredMessage[],
): Promise<ReadHistory> => {
  const filter = lifecycleFilter(key);
  const head = await lastSequence(log, 'RUNS', filter);
  if (head === 0) return { kind: 'whole', history: EMPTY_HISTORY, facts: [], refused: [] };

  const queued = await nextMessage(log, 'RUNS', 1, `${filter.slice(0, -1)}queued.gateway.0.none`);
  const from = earliest([...known, ...(queued ? [fromStored(queued)] : [])], filter, head);
  const messages = await readAllUnder(log, filter, { from, most: MOST_MESSAGES });
  return messages ? readHistory(key, messages) : tooMany(key, head);
};

const tooMany = (key: RunKey, head: number): ReadHistory => ({
  kind: 'damaged',
  why: `run ${key.run_id} has more than ${MOST_MESSAGES} messages, most of which cannot be its own`,
  after: 0,
  expected: 0,
  sequence: head,
});

import type { RefusedMessage } from '@runledger/contracts/fold/read-chain';
import type { RunState } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { RunLog } from '@runledger/event-log/messages/run-messages';
import { head, readRun, type ReadRun } from '@runledger/event-log/read/read-run';
import type { StoredView } from './run-view.ts';

type ReadView =
  | { readonly kind: 'whole'; readonly view: StoredView; readonly refused: readonly RefusedMessage[] }
  /** The run is known, but not the state of its notifications. */
  | { readonly kind: 'webhook_damaged'; readonly head: number; readonly run: RunState }
  | Exclude<ReadRun, { kind: 'found' | 'deleted' }>;

const MAX_READS = 5;

/**
 * The view of a run, read from the log with everything up to `atLeast`. The two chains are read one after the other, so
 * the first may have grown meanwhile. Then both are read again.
 * @throws {LogUnavailable}
 */
export const readView = async (log: RunLog, key: RunKey, atLeast: number): Promise<ReadView> => {
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const read = await readRun(log, key, { atLeast });
    if (read.kind !== 'found' && read.kind !== 'deleted') return read;
    const { run, history, webhook, refused } = read;
    if (!webhook) return { kind: 'webhook_damaged', head: history.head, run };
    if (webhook.head < history.head || (await head(log, key)) === history.head) {
      return { kind: 'whole', view: { head: history.head, run, webhook }, refused };
    }
  }
  throw new Error(`Run ${key.run_id} changed again and again while it was read`);
};

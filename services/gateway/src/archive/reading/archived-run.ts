import { readChain } from '@runledger/contracts/fold/read-chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { RunState } from '@runledger/contracts/fold/run';
import { WEBHOOK_CHAIN, type WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import { EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { ReadRunMessages } from './run-messages.ts';

/** A run by its facts in the archive and in the log. Of another log its heads are 0, as those of its view. */
interface ArchivedRun {
  readonly head: number;
  readonly run: RunState;
  readonly webhook: WebhookHistory;
}

/**
 * A run that neither the views nor the log can show; undefined when the archive cannot either. @throws {LogUnavailable}
 * @throws {ArchiveUnavailable}
 */
export type ReadArchivedRun = (key: RunKey) => Promise<ArchivedRun | undefined>;

export const archivedRun =
  (read: ReadRunMessages): ReadArchivedRun =>
  async (key) => {
    const messages = await read(key);
    if (!messages || messages.archived.length === 0) return undefined;
    const life = readChain(RUN_CHAIN, messages.life);
    if (life.kind !== 'whole' || life.history.state === undefined) return undefined;
    const { head, state: run } = life.history;
    const sent = readChain(WEBHOOK_CHAIN, messages.webhook);
    const webhook = sent.kind === 'whole' ? sent.history : EMPTY_HISTORY;
    return messages.isOfOtherLog
      ? { head: 0, run, webhook: { ...webhook, head: 0 } }
      : { head, run, webhook };
  };

import type { RunEvent } from '@runledger/contracts/events/run-event';
import {
  lifecycleFilter,
  parseWebhookSubject,
  runFilter,
  webhookFilter,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { Chain, NewerEvent, StoredMessage } from '@runledger/contracts/fold/chain';
import {
  readChain,
  type ReadChain,
  type RefusedMessage,
  type WholeChain,
} from '@runledger/contracts/fold/read-chain';
import {
  isDeleted,
  type DeletedRun,
  type Run,
  type RunFact,
  type RunState,
} from '@runledger/contracts/fold/run';
import { assignedAttempts, isStray, RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import {
  isSettled,
  roundOf,
  WEBHOOK_CHAIN,
  type Webhook,
  type WebhookFact,
  type WebhookHistory,
} from '@runledger/contracts/fold/webhook';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { partOf, readWholeRun, readWholeWebhook, type DamagedRun } from './read-whole-chain.ts';
import { messagesOf } from './run-messages.ts';

export type ReadRun =
  /** No such run. `head` is 0, or the sequence of the last message under its subjects when only invalid ones are stored. */
  | { readonly kind: 'none'; readonly head: number }
  | ({ readonly kind: 'found'; readonly run: Run } & ReadFacts)
  /** A client deleted it. */
  | ({ readonly kind: 'deleted'; readonly run: DeletedRun } & ReadFacts)
  | NewerEvent
  | DamagedRun;

interface ReadFacts {
  readonly history: RunHistory;
  readonly facts: readonly RunFact[];
  /** Its notifications; undefined when their chain has a gap. */
  readonly webhook: WebhookHistory | undefined;
  /** That gap is at their beginning: the first of these facts have left the log. */
  readonly webhookExpired: boolean;
  /** The facts that `webhook` was folded from. */
  readonly webhookFacts: readonly WebhookFact[];
  readonly refused: readonly RefusedMessage[];
}

interface ReadRunOptions {
  /** A sequence of the run that the caller knows: a response that does not reach it is not accepted. */
  readonly atLeast?: number;
}

/**
 * A run and its notifications from the log. As a rule this is one request to any replica. When its response is empty, behind
 * `atLeast` or not a whole chain, the run is read from the stream's leader. What executors store that it was not assigned to does not
 * matter then: it is not read, and not all of it is in `refused`.
 * @throws {LogUnavailable}
 */
export const readRun = async (
  log: EventLog,
  key: RunKey,
  { atLeast = 0 }: ReadRunOptions = {},
): Promise<ReadRun> => {
  const stored = messagesOf(log);
  let messages: readonly StoredMessage[] = [];
  // A replica may be a moment behind the leader, so it is read a second time.
  for (let reads = 0; reads < 2; reads += 1) {
    // Every fact has a subject of its own, so this is the whole run, unless a forged message hides a fact. Under the subjects of a fact
    // only services may write, and the executors that the run was assigned to.
    messages = await stored.lastOfEachSubject(runFilter(key));
    const life = readChain(RUN_CHAIN, partOf(RUN_CHAIN, key, messages));
    const webhook = readChain(WEBHOOK_CHAIN, partOf(WEBHOOK_CHAIN, key, messages));
    if (life.kind !== 'whole' || !hidesNothing(key, messages, life) || life.history.state === undefined)
      break;
    if (webhook.kind !== 'newer_version' && !isClean(webhook)) break;
    if (Math.max(life.history.head, headOf(webhook)) >= atLeast) return summary(life, webhook);
  }
  // Waits for a leader that is a moment behind the reader that this message was delivered to.
  const handed = atLeast > 0 ? await stored.at(atLeast) : undefined;
  const life = await readWholeRun(stored, key, partOf(RUN_CHAIN, key, messages), handed);
  if (life.kind === 'damaged' || life.kind === 'newer_version') return life;
  const webhook = await readWholeWebhook(stored, key, life, partOf(WEBHOOK_CHAIN, key, messages));
  if (
    handed &&
    (lacks(RUN_CHAIN, key, life, handed) ||
      (life.history.state && lacks(WEBHOOK_CHAIN, key, webhook, handed)))
  ) {
    throw new LogUnavailable(
      `reading run ${key.run_id}: another server than the leader answered, without message ${atLeast}`,
    );
  }
  return summary(life, webhook);
};

/** Whether the message is in this chain, and was not read. */
const lacks = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  key: RunKey,
  read: ReadChain<Event, State>,
  message: StoredMessage,
): boolean =>
  partOf(chain, key, [message]).length > 0 && read.kind === 'whole' && read.history.head < message.sequence;

/** Whether none of the messages that are no facts is under a subject that a fact has too. A reader of the last ones would miss that. */
const hidesNothing = (
  key: RunKey,
  messages: readonly StoredMessage[],
  { refused }: WholeChain<RunEvent, RunState>,
): boolean => {
  if (refused.length === 0) return true;
  const attempts = assignedAttempts(key, messages).map((assigned) => ({
    ...assigned,
    after: 0,
    before: Infinity,
  }));
  return refused.every(({ message }) => isStray(attempts, message));
};

/** No fact is missing or hidden. */
export const isClean = <Event, State>(read: ReadChain<Event, State>): read is WholeChain<Event, State> =>
  read.kind === 'whole' && read.refused.length === 0;

const headOf = (read: ReadChain<WebhookEvent, Webhook>): number =>
  read.kind === 'whole' ? read.history.head : 0;

const summary = (
  { history, facts, refused }: WholeChain<RunEvent, RunState>,
  webhook: ReadChain<WebhookEvent, Webhook>,
): ReadRun => {
  if (webhook.kind === 'newer_version') return webhook;
  if (history.state === undefined) return { kind: 'none', head: history.head };
  const whole = webhook.kind === 'whole' ? webhook : undefined;
  const { state: run } = history;
  const read = {
    history,
    facts,
    webhook: whole?.history,
    webhookExpired: webhook.kind === 'gap' && webhook.after === 0 && webhook.expected > 0,
    webhookFacts: whole?.facts ?? [],
    refused: [...refused, ...(whole?.refused ?? [])],
  };
  return isDeleted(run) ? { kind: 'deleted', run, ...read } : { kind: 'found', run, ...read };
};

/** The sequence of the last message of the run's lifecycle, from the stream's leader; 0 for none. */
export const head = async (log: EventLog, key: RunKey): Promise<number> =>
  (await messagesOf(log).last(lifecycleFilter(key)))?.sequence ?? 0;

/** The same over all messages of the run, including its webhook facts. */
export const lastOfRun = async (log: EventLog, key: RunKey): Promise<number> =>
  (await messagesOf(log).last(runFilter(key)))?.sequence ?? 0;

/** The end of a run's webhook chain, by the subject of its last fact: it is known even when the facts before it are gone. */
export interface WebhookEnd {
  /** The sequence of the last webhook fact; 0 for none. */
  readonly head: number;
  readonly round: number;
  /** `settled`: nothing more is sent until somebody requests a redelivery. */
  readonly status: 'none' | 'running' | 'settled';
}

const SETTLING: ReadonlySet<string> = new Set(['delivered', 'given_up', 'expired']);

/** Whether a webhook fact of this name settles the notification. */
export const settles = (fact: string): boolean => SETTLING.has(fact);

/** The end of a chain that was folded. */
export const endOf = ({ head, state }: WebhookHistory): WebhookEnd => ({
  head,
  round: roundOf(state),
  status: state === undefined ? 'none' : isSettled(state) ? 'settled' : 'running',
});

/** Of a run that was read. When its chain has a gap, the last fact is read from the stream's leader. @throws {LogUnavailable} */
export const webhookEndOf = async (log: EventLog, key: RunKey, read: ReadRun): Promise<WebhookEnd> =>
  read.kind === 'found' && read.webhook ? endOf(read.webhook) : readWebhookEnd(log, key);

/** From the stream's leader. @throws {LogUnavailable} */
export const readWebhookEnd = async (log: EventLog, key: RunKey): Promise<WebhookEnd> => {
  const last = await messagesOf(log).last(webhookFilter(key));
  const about = last && parseWebhookSubject(last.subject);
  if (!last || !about) return { head: last?.sequence ?? 0, round: 1, status: 'none' };
  return { head: last.sequence, round: about.round, status: settles(about.fact) ? 'settled' : 'running' };
};

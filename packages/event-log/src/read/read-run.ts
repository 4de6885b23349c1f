import type { Chain, NewerEvent, StoredMessage } from '@runledger/contracts/fold/chain';
import {
  readChain,
  type ReadChain,
  type RefusedMessage,
  type WholeChain,
} from '@runledger/contracts/fold/read-chain';
import type { Run, RunFact } from '@runledger/contracts/fold/run';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import type { Webhook, WebhookFact } from '@runledger/contracts/fold/webhook';
import { WEBHOOK_CHAIN, type WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { lifecycleFilter, runFilter, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { callBroker, isTransient } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { readDirect } from '../messages/direct-read.ts';
import { lastSequence } from '../messages/leader-read.ts';
import { readWholeRun, readWholeWebhook, type DamagedRun } from './read-whole-chain.ts';
import { fromStored } from '../messages/stored-message.ts';

export type ReadRun =
  /** No such run. `head` is 0, or the last message stored under its name, none of which counts. */
  | { readonly kind: 'none'; readonly head: number }
  | {
      readonly kind: 'found';
      readonly run: Run;
      readonly history: RunHistory;
      readonly facts: readonly RunFact[];
      /** Its notifications; undefined when their chain has a gap. */
      readonly webhook: WebhookHistory | undefined;
      /** What `webhook` was folded from. */
      readonly webhookFacts: readonly WebhookFact[];
      readonly refused: readonly RefusedMessage[];
    }
  | NewerEvent
  | DamagedRun;

export interface ReadRunOptions {
  /** A sequence of the run that the caller knows of: an answer without it is not taken. */
  readonly atLeast?: number;
}

/**
 * A run and its notifications as the log has them. As a rule one request to any replica; when its answer is empty, behind
 * `atLeast` or not a whole chain, the stream's leader decides.
 * @throws {LogUnavailable}
 */
export const readRun = async (
  log: EventLog,
  key: RunKey,
  { atLeast = 0 }: ReadRunOptions = {},
): Promise<ReadRun> => {
  let messages: StoredMessage[] = [];
  // A replica may be a moment behind the leader, so one that is too old is asked once more.
  for (let reads = 0; reads < 2; reads += 1) {
    messages = await lastOfEachSubject(log, key);
    const life = readChain(RUN_CHAIN, partOf(RUN_CHAIN, key, messages));
    const webhook = readChain(WEBHOOK_CHAIN, partOf(WEBHOOK_CHAIN, key, messages));
    if (!isClean(life) || life.history.state === undefined) break;
    if (webhook.kind !== 'newer_version' && !isClean(webhook)) break;
    if (Math.max(life.history.head, headOf(webhook)) >= atLeast) return summary(life, webhook);
  }
  const life = await readWholeRun(log, key, partOf(RUN_CHAIN, key, messages));
  if (life.kind === 'damaged' || life.kind === 'newer_version') return life;
  return summary(life, await readWholeWebhook(log, key, life, partOf(WEBHOOK_CHAIN, key, messages)));
};

const partOf = (
  chain: Pick<Chain<never, never, never>, 'filterOf'>,
  key: RunKey,
  messages: readonly StoredMessage[],
): StoredMessage[] => {
  const prefix = chain.filterOf(key).slice(0, -1);
  return messages.filter(({ subject }) => subject.startsWith(prefix));
};

/**
 * Every fact has a subject of its own, so the last of each subject is the whole run, unless a message that does not
 * belong there hides one.
 */
const lastOfEachSubject = async (log: EventLog, key: RunKey): Promise<StoredMessage[]> => {
  const query = { multi_last: [runFilter(key)] };
  try {
    const what = `reading run ${key.run_id}`;
    return (await callBroker(what, () => readDirect(log, 'RUNS', query))).map(fromStored);
  } catch (error) {
    // More subjects than one answer takes (1,024): the leader gives them one by one.
    if (isTooMany(error)) return [];
    throw error;
  }
};

const isTooMany = (error: unknown): boolean =>
  !isTransient(error) && error instanceof Error && 'code' in error && error.code === 413;

/** Nothing is missing, and nothing hides anything. */
const isClean = <Event, State>(read: ReadChain<Event, State>): read is WholeChain<Event, State> =>
  read.kind === 'whole' && read.refused.length === 0;

const headOf = (read: ReadChain<WebhookEvent, Webhook>): number =>
  read.kind === 'whole' ? read.history.head : 0;

const summary = (
  { history, facts, refused }: WholeChain<RunEvent, Run>,
  webhook: ReadChain<WebhookEvent, Webhook>,
): ReadRun => {
  if (webhook.kind === 'newer_version') return webhook;
  if (history.state === undefined) return { kind: 'none', head: history.head };
  const whole = webhook.kind === 'whole' ? webhook : undefined;
  return {
    kind: 'found',
    run: history.state,
    history,
    facts,
    webhook: whole?.history,
    webhookFacts: whole?.facts ?? [],
    refused: [...refused, ...(whole?.refused ?? [])],
  };
};

/** The sequence of the last message of the run's lifecycle, asked of the stream's leader; 0 when there is none. */
export const head = (log: EventLog, key: RunKey): Promise<number> =>
  lastSequence(log, 'RUNS', lifecycleFilter(key));

/** The same over everything that the log holds of the run, its webhook facts too. */
export const lastOfRun = (log: EventLog, key: RunKey): Promise<number> =>
  lastSequence(log, 'RUNS', runFilter(key));

/** One message, from the stream's leader; undefined when it is not (or no longer) there. */
export const readStored = async (
  log: EventLog,
  sequence: number,
  stream: 'RUNS' | 'FLEET' = 'RUNS',
): Promise<StoredMessage | undefined> => {
  const ask = () => log.jsm.streams.getMessage(stream, { seq: sequence });
  const message = await callBroker(`reading message ${sequence} of ${stream}`, ask);
  return message ? fromStored(message) : undefined;
};

/** The broker's time of a stream's creation: it tells the stream from another one of the same name. */
export const createdAt = async (log: EventLog, stream: 'RUNS' | 'FLEET'): Promise<string> =>
  (await callBroker(`asking about the stream ${stream}`, () => log.jsm.streams.info(stream))).created;

/** Tells this log from another one, and how full it is. */
export interface RunsIdentity {
  readonly stream: 'RUNS';
  /** The broker's time of the stream's creation. */
  readonly created: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly bytes: number;
  /** The limit on `bytes`; -1 when there is none. */
  readonly maxBytes: number;
}

export const runsIdentity = async (log: EventLog): Promise<RunsIdentity> => {
  const info = await callBroker('asking about the stream RUNS', () => log.jsm.streams.info('RUNS'));
  return {
    stream: 'RUNS',
    created: info.created,
    firstSequence: info.state.first_seq,
    lastSequence: info.state.last_seq,
    bytes: info.state.bytes,
    maxBytes: info.config.max_bytes,
  };
};

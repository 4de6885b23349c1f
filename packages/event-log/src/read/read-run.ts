import { readHistory } from '@runledger/contracts/fold/run-chain';
import type {
  History,
  ReadHistory,
  RefusedMessage,
  StoredMessage,
} from '@runledger/contracts/fold/run-chain';
import type { RunFact, Run } from '@runledger/contracts/fold/run';
import { lifecycleFilter, runFilter, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { WebhookFact } from '@runledger/contracts/fold/webhook';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import { callBroker, isTransient } from '../connect/broker-call.ts';
import { lastSequence } from './leader-read.ts';
import { readDirect } from './direct-read.ts';
import type { EventLog } from '../connect/event-log.ts';
import { foldWebhook, readWholeWebhook, type ReadWebhook } from './read-webhook.ts';
import { readWholeRun } from './read-whole-run.ts';
import { fromStored } from './stored-message.ts';

export type ReadRun =
  /** No such run. `head` is 0, or the last message stored under its name, none of which counts. */
  | { readonly kind: 'none'; readonly head: number }
  | {
      readonly kind: 'found';
      readonly run: Run;
      readonly history: History;
      readonly facts: readonly RunFact[];
      /** What became of its notifications; undefined when these facts do not hang together. */
      readonly webhook: WebhookHistory | undefined;
      /** What `webhook` was folded from. */
      readonly webhookFacts: readonly WebhookFact[];
      readonly refused: readonly RefusedMessage[];
    }
  | {
      readonly kind: 'newer_version';
      readonly type: string;
      readonly version: number;
      readonly sequence: number;
    }
  | Extract<ReadHistory, { kind: 'damaged' }>;

export interface ReadRunOptions {
  /** A sequence of the run that the caller knows of: an answer without it is not taken. */
  readonly atLeast?: number;
}

/**
 * What the log says of a run and of its notifications. One request to any replica as a rule; an answer that is empty,
 * behind `atLeast` or not a whole chain is settled by the stream's leader.
 * @throws {LogUnavailable}
 */
export const readRun = async (
  log: EventLog,
  key: RunKey,
  { atLeast = 0 }: ReadRunOptions = {},
): Promise<ReadRun> => {
  let messages: StoredMessage[] = [];
  // A replica may be a moment behind the leader, so one that is too old is asked once more.
  for (let tries = 0; tries < 2; tries += 1) {
    messages = await lastOfEachSubject(log, key);
    const read = readHistory(key, partOf('life', messages));
    const webhook = foldWebhook(partOf('webhook', messages));
    if (!isClean(read) || webhook === 'unclear') break;
    if (Math.max(read.history.head, headOf(webhook)) >= atLeast) return summary(read, webhook);
  }
  const read = await readWholeRun(log, key, partOf('life', messages));
  if (read.kind !== 'whole') return summary(read, undefined);
  return summary(read, await readWholeWebhook(log, key, read, partOf('webhook', messages)));
};

const partOf = (part: 'life' | 'webhook', messages: readonly StoredMessage[]): StoredMessage[] =>
  messages.filter(({ subject }) => subject.split('.')[3] === part);

const headOf = (webhook: ReadWebhook): number => (webhook?.kind === 'read' ? webhook.history.head : 0);

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

const isClean = (read: ReadHistory): read is Extract<ReadHistory, { kind: 'whole' }> =>
  read.kind === 'whole' && read.refused.length === 0 && read.history.run !== undefined;

const summary = (read: ReadHistory, webhook: ReadWebhook): ReadRun => {
  if (read.kind !== 'whole') return read;
  if (webhook?.kind === 'newer_version') return webhook;
  const { history, facts } = read;
  if (history.run === undefined) return { kind: 'none', head: history.head };
  const refused = [...read.refused, ...(webhook?.refused ?? [])];
  return {
    kind: 'found',
    run: history.run,
    history,
    facts,
    webhook: webhook?.history,
    webhookFacts: webhook?.facts ?? [],
    refused,
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

import { randomUUID } from 'node:crypto';
import type { StoredMsg } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { errorMessage } from '@runledger/contracts/events/run-error';
import { Type, type Static } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { callBroker } from '../connect/broker-call.ts';
import { readDirect } from '../read/direct-read.ts';
import type { EventLog } from '../connect/event-log.ts';
import { executorWriterOf } from '@runledger/contracts/events/subjects';
import { executorOfConsumer } from '@runledger/contracts/requests/executors';
import { perMinute } from '@runledger/resilience/per-minute';
import { DEAD_LETTER_BYTES } from '../provision/stream-definitions.ts';
import { maxPayloadBytes, publish } from '../append/publish.ts';
import { removeMessage } from './erase-messages.ts';
import { parseJson } from '../read/stored-message.ts';

const DeadLetterSchema = Type.Object({
  /** Why the consumer could not handle it, for people. */
  reason: Type.String(),
  consumer: Type.String(),
  /** The stream that holds it until it expires there. */
  stream: Type.String(),
  subject: Type.String(),
  sequence: Type.Integer(),
  time: Type.String(),
  headers: Type.Record(Type.String(), Type.Array(Type.String())),
  /** The payload in base64; null when it is too large for this message: read it in its stream. */
  data: Type.Union([Type.String(), Type.Null()]),
});
type DeadLetter = Static<typeof DeadLetterSchema>;

interface DeadLetterRequest {
  /** The name of the consumer, as one subject token. */
  readonly consumer: string;
  readonly stored: StoredMessage;
  readonly reason: string;
  /** RUNS when left out. */
  readonly stream?: string;
  /** The message as it was delivered; read from its stream when left out. */
  readonly raw?: RawMessage;
}

interface RawMessage {
  readonly data: Uint8Array;
  readonly headers: Iterable<[string, string[]]>;
}

/** Of the message itself: its id. */
const HEADERS_BYTES = 1_024;
const utf8 = new TextEncoder();
const DeadLetterCheck = compiledSchema(DeadLetterSchema);
/**
 * Other users may write to DEAD_LETTERS too, and the broker drops a message under a known id. So nobody may predict our ids.
 */
const UNPREDICTABLE = randomUUID();

/** The dead letters of a consumer. */
const deadLetterFilter = (stream: string, consumer: string): string => `dead_letters.${stream}.${consumer}.>`;

/**
 * The subject of a dead letter. A writer is limited to those of its consumer. All that come from messages of one executor have one
 * subject, of which the stream keeps the last hundred, so that an executor cannot displace what others left; every other one has its own.
 */
const deadLetterSubject = (
  letter: Pick<DeadLetter, 'stream' | 'consumer' | 'subject' | 'sequence'>,
): string => {
  const { stream, consumer, sequence } = letter;
  const executor = blamedExecutor(letter);
  return `dead_letters.${stream}.${consumer}.${executor === undefined ? `message.${sequence}` : `executor.${executor}`}`;
};

/** The name of the executor that wrote the message, or whose own consumer could not handle it. */
const blamedExecutor = ({
  consumer,
  subject,
}: Pick<DeadLetter, 'consumer' | 'subject'>): string | undefined =>
  executorOfConsumer(consumer) ?? executorWriterOf(subject);

/**
 * Of each consumer and executor: how many dead letters are stored in a minute. An executor could slow a reader down with more, and the
 * stream keeps no more of them.
 */
const MOST_OF_EXECUTOR = 100;
const stores = perMinute(MOST_OF_EXECUTOR);
const lines = perMinute(1);

/**
 * Stores a message that a consumer cannot handle as a dead letter, for an operator. A repeated call stores it once, unless the
 * process was restarted in between. Of the messages of an executor, 100 in a minute are stored and one is logged; the others stay in their
 * stream only, and the next line says how many they are. @throws {LogUnavailable}
 */
export const storeDeadLetter = async (log: EventLog, request: DeadLetterRequest): Promise<void> => {
  const { consumer, stored, reason, stream = 'RUNS' } = request;
  const executor = blamedExecutor({ consumer, subject: stored.subject });
  const kind = `${consumer} ${executor}`;
  if (executor === undefined || stores(kind)) await publishDeadLetter(log, request);
  log.observer.deadLettered(consumer, executor);
  const line = executor === undefined ? {} : lines(kind);
  if (line === undefined) return;
  const { sequence, subject } = stored;
  log.logger.error(
    { consumer, stream, sequence, subject, reason, ...line },
    'a message became a dead letter',
  );
};

const publishDeadLetter = async (
  log: EventLog,
  { consumer, stored, reason, stream = 'RUNS', raw }: DeadLetterRequest,
): Promise<void> => {
  const { data, headers } = raw ?? (await lookUp(log, stream, stored));
  const deadLetter: DeadLetter = {
    reason: errorMessage(reason),
    consumer,
    stream,
    subject: stored.subject,
    sequence: stored.sequence,
    time: stored.time,
    headers: Object.fromEntries(headers),
    data: Buffer.from(data).toString('base64'),
  };
  const subject = deadLetterSubject(deadLetter);
  await publish(log, {
    stream: 'DEAD_LETTERS',
    subject,
    data: fitting(deadLetter, Math.min(maxPayloadBytes(log), DEAD_LETTER_BYTES - HEADERS_BYTES)),
    id: `${subject}.${stored.sequence}.${UNPREDICTABLE}`,
  });
};

const lookUp = async (log: EventLog, stream: string, stored: StoredMessage): Promise<RawMessage> => {
  const read = () => log.jsm.streams.getMessage(stream, { seq: stored.sequence });
  const message = await callBroker(`reading message ${stored.sequence} of ${stream}`, read);
  return message
    ? { data: message.data, headers: message.header }
    : { data: utf8.encode(JSON.stringify(stored.body ?? null)), headers: [] };
};

/** A message of any size must fit into a dead letter: without its payload, and if need be without its headers. */
const fitting = (deadLetter: DeadLetter, most: number): Uint8Array => {
  const shorter = [deadLetter, { ...deadLetter, data: null }, { ...deadLetter, data: null, headers: {} }];
  const encoded = shorter.map((letter) => utf8.encode(JSON.stringify(letter)));
  return encoded.find(({ byteLength }) => byteLength <= most) ?? utf8.encode('{}');
};

export interface ListedDeadLetter extends DeadLetter {
  /** Its sequence in DEAD_LETTERS. */
  readonly position: number;
}

export interface DeadLetterRange {
  /** The position behind which to begin. */
  readonly after?: number;
  /** 100 when left out. */
  readonly limit?: number;
  /** Every stream and every consumer when left out; each is one subject token. */
  readonly stream?: string;
  readonly consumer?: string;
}

/** Messages may have the largest size that the broker accepts, so they are read in batches. */
const BATCH = 20;

/** The dead letters of a range, oldest first. An invalid message is logged and left out. @throws {LogUnavailable} */
export const listDeadLetters = async (
  log: EventLog,
  { after = 0, limit = 100, stream = '*', consumer = '*' }: DeadLetterRange = {},
): Promise<ListedDeadLetter[]> => {
  const listed: ListedDeadLetter[] = [];
  for (let seq = after + 1; listed.length < limit;) {
    const batch = Math.min(limit - listed.length, BATCH);
    const query = { seq, batch, next_by_subj: deadLetterFilter(stream, consumer) };
    const { messages } = await readDirect(log, 'DEAD_LETTERS', query, 'reading DEAD_LETTERS');
    const last = messages.at(-1);
    if (last === undefined) break;
    listed.push(...messages.flatMap((message) => deadLettersIn(log, message)));
    seq = last.seq + 1;
  }
  return listed;
};

/** Undefined when this position has no dead letter, or no longer. @throws {LogUnavailable} */
export const readDeadLetter = async (
  log: EventLog,
  position: number,
): Promise<ListedDeadLetter | undefined> => {
  const read = () => log.jsm.streams.getMessage('DEAD_LETTERS', { seq: position });
  const message = await callBroker('reading DEAD_LETTERS', read);
  return message === null ? undefined : deadLettersIn(log, message)[0];
};

/** After a redrive; does nothing when it is already removed. @throws {LogUnavailable} */
export const removeDeadLetter = (log: EventLog, position: number): Promise<void> =>
  removeMessage(log, 'DEAD_LETTERS', position);

/** A writer may store dead letters only under its own subjects. Any other claim in its message is not trusted. */
const deadLettersIn = (
  log: EventLog,
  { data, seq, subject }: Pick<StoredMsg, 'data' | 'seq' | 'subject'>,
): ListedDeadLetter[] => {
  const deadLetter = parseJson(data);
  if (DeadLetterCheck.Check(deadLetter) && deadLetterSubject(deadLetter) === subject)
    return [{ ...deadLetter, position: seq }];
  log.logger.warn(
    { position: seq, subject },
    'a message in DEAD_LETTERS does not match its subject, and is left out: inspect it with "nats stream get DEAD_LETTERS"',
  );
  return [];
};

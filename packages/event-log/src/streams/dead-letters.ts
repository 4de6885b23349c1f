import { randomUUID } from 'node:crypto';
import type { StoredMsg } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/fold/run-chain';
import { MAX_ERROR_MESSAGE } from '@runledger/contracts/limits';
import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { askBroker } from '../connect/broker-call.ts';
import { readDirect } from '../read/direct-read.ts';
import type { EventLog } from '../connect/event-log.ts';
import { mostBytes, publish } from '../append/publish.ts';
import { removeMessage } from './remove-message.ts';
import { parseJson } from '../read/stored-message.ts';

const Parked = Type.Object({
  /** Why the consumer could not take it, for people. */
  reason: Type.String(),
  consumer: Type.String(),
  /** Where it was, and still is until it expires there. */
  stream: Type.String(),
  subject: Type.String(),
  sequence: Type.Integer(),
  time: Type.String(),
  headers: Type.Record(Type.String(), Type.Array(Type.String())),
  /** The payload in base64; null when it is too large to stand here: read it in its stream. */
  data: Type.Union([Type.String(), Type.Null()]),
});
export type ParkedMessage = Static<typeof Parked>;

export interface ParkRequest {
  /** The name of the consumer, as one subject token. */
  readonly consumer: string;
  readonly stored: StoredMessage;
  readonly reason: string;
  /** RUNS when left out. */
  readonly stream?: string;
  /** The message as it was delivered; looked up in its stream when left out. */
  readonly raw?: RawMessage;
}

interface RawMessage {
  readonly data: Uint8Array;
  readonly headers: Iterable<[string, string[]]>;
}

const utf8 = new TextEncoder();
const ParkedCheck = Compile(Parked);
/**
 * Others may write to PARKED too, and the broker drops what comes under an id that it has seen: so nobody foresees ours.
 */
const UNFORESEEN = randomUUID();

/** Where a consumer's messages are parked: what a writer may be allowed. */
const parkedSubject = ({ stream, consumer }: Pick<ParkedMessage, 'stream' | 'consumer'>): string =>
  `parked.${stream}.${consumer}`;

/**
 * Puts a message that a consumer cannot take where a person sees it. Doing it twice parks it once, unless the process was
 * started again in between. @throws {LogUnavailable}
 */
export const park = async (
  log: EventLog,
  { consumer, stored, reason, stream = 'RUNS', raw }: ParkRequest,
): Promise<void> => {
  const { data, headers } = raw ?? (await lookUp(log, stream, stored));
  const parked: ParkedMessage = {
    reason: reason.slice(0, MAX_ERROR_MESSAGE),
    consumer,
    stream,
    subject: stored.subject,
    sequence: stored.sequence,
    time: stored.time,
    headers: Object.fromEntries(headers),
    data: Buffer.from(data).toString('base64'),
  };
  await publish(log, {
    stream: 'PARKED',
    subject: parkedSubject(parked),
    data: fitting(parked, mostBytes(log)),
    id: `${parkedSubject(parked)}.${stored.sequence}.${UNFORESEEN}`,
  });
  log.observer.parked(consumer);
  log.logger.error({ consumer, stream, sequence: stored.sequence, reason }, 'a message is parked');
};

const lookUp = async (log: EventLog, stream: string, stored: StoredMessage): Promise<RawMessage> => {
  const ask = () => log.jsm.streams.getMessage(stream, { seq: stored.sequence });
  const message = await askBroker(`reading message ${stored.sequence} of ${stream}`, ask);
  return message
    ? { data: message.data, headers: message.header }
    : { data: utf8.encode(JSON.stringify(stored.body ?? null)), headers: [] };
};

/** Poison may be of any size, and parking it must not fail for that. Headers always fit: the broker takes 64 KiB of them. */
const fitting = (parked: ParkedMessage, most: number): Uint8Array => {
  const whole = utf8.encode(JSON.stringify(parked));
  return whole.byteLength <= most ? whole : utf8.encode(JSON.stringify({ ...parked, data: null }));
};

export interface ListedParked extends ParkedMessage {
  /** Its sequence in PARKED. */
  readonly position: number;
}

export interface ParkedSpan {
  /** Behind which position to begin. */
  readonly after?: number;
  /** 100 when left out. */
  readonly limit?: number;
  /** Those of any stream and of any consumer when left out; each is one subject token. */
  readonly stream?: string;
  readonly consumer?: string;
}

/** A message may be as large as the broker takes, so not all are read at once. */
const READ_AT_ONCE = 20;

/** The parked messages of a span, oldest first; what is no parked message is told to the logger. @throws {LogUnavailable} */
export const listParked = async (
  log: EventLog,
  { after = 0, limit = 100, stream = '*', consumer = '*' }: ParkedSpan = {},
): Promise<ListedParked[]> => {
  const listed: ListedParked[] = [];
  for (let seq = after + 1; listed.length < limit;) {
    const batch = Math.min(limit - listed.length, READ_AT_ONCE);
    const query = { seq, batch, next_by_subj: parkedSubject({ stream, consumer }) };
    const messages = await askBroker('reading PARKED', () => readDirect(log, 'PARKED', query));
    const last = messages.at(-1);
    if (last === undefined) break;
    listed.push(...messages.flatMap((message) => parkedIn(log, message)));
    seq = last.seq + 1;
  }
  return listed;
};

/** Undefined when there is none at this position, or not any more. @throws {LogUnavailable} */
export const readParked = async (log: EventLog, position: number): Promise<ListedParked | undefined> => {
  const ask = () => log.jsm.streams.getMessage('PARKED', { seq: position });
  const message = await askBroker('reading PARKED', ask);
  return message === null ? undefined : parkedIn(log, message)[0];
};

/** For a message that was taken after all; nothing happens when it is gone already. @throws {LogUnavailable} */
export const dropParked = (log: EventLog, position: number): Promise<void> =>
  removeMessage(log, 'PARKED', position);

/** A writer may park under its own subjects only; what it says of itself is believed no further than that. */
const parkedIn = (log: EventLog, { data, seq, subject }: StoredMsg): ListedParked[] => {
  const parked = parseJson(data);
  if (ParkedCheck.Check(parked) && parkedSubject(parked) === subject) return [{ ...parked, position: seq }];
  log.logger.warn(
    { position: seq, subject },
    'a message in PARKED is not what its subject says, and is left out: look at it with "nats stream get PARKED"',
  );
  return [];
};

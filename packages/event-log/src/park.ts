import type { StoredMessage } from '@runledger/contracts/history';
import { MAX_ERROR_MESSAGE } from '@runledger/contracts/limits';
import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { askBroker } from './ask-broker.ts';
import { readDirect } from './direct-read.ts';
import type { EventLog } from './event-log.ts';
import { mostBytes, publish } from './publish.ts';
import { parseJson } from './stored-message.ts';

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
}

const utf8 = new TextEncoder();
const ParkedCheck = Compile(Parked);

/** Puts a message that a consumer cannot take where a person sees it. Doing it twice parks it once. @throws {LogUnavailable} */
export const park = async (
  log: EventLog,
  { consumer, stored, reason, stream = 'RUNS' }: ParkRequest,
): Promise<void> => {
  const ask = () => log.jsm.streams.getMessage(stream, { seq: stored.sequence });
  const raw = await askBroker(`reading message ${stored.sequence} of ${stream}`, ask);
  const payload = raw ? raw.data : utf8.encode(JSON.stringify(stored.body ?? null));
  const parked: ParkedMessage = {
    reason: reason.slice(0, MAX_ERROR_MESSAGE),
    consumer,
    stream,
    subject: stored.subject,
    sequence: stored.sequence,
    time: stored.time,
    headers: Object.fromEntries(raw ? [...raw.header] : []),
    data: Buffer.from(payload).toString('base64'),
  };
  await publish(log, {
    stream: 'PARKED',
    subject: `parked.${stream}.${consumer}`,
    data: fitting(parked, mostBytes(log)),
    id: `parked.${stream}.${consumer}.${stored.sequence}`,
  });
  log.logger.error({ consumer, stream, sequence: stored.sequence, reason }, 'a message is parked');
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

/** The parked messages behind a position, oldest first, at most `limit` (100 when left out). @throws {LogUnavailable} */
export const listParked = async (
  log: EventLog,
  { after = 0, limit = 100 }: { readonly after?: number; readonly limit?: number } = {},
): Promise<ListedParked[]> => {
  const query = { seq: after + 1, batch: limit };
  const messages = await askBroker('reading PARKED', () => readDirect(log, 'PARKED', query));
  return messages.flatMap((message) => {
    const parked = parseJson(message.data);
    return ParkedCheck.Check(parked) ? [{ ...parked, position: message.seq }] : [];
  });
};

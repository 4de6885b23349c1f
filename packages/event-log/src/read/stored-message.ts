import type { StoredMsg } from '@nats-io/jetstream';
import { MsgImpl, type Msg, type MsgHdrs } from '@nats-io/transport-node';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { parseJson as parseJsonText } from '@runledger/contracts/json';

const FENCE = 'Nats-Expected-Last-Subject-Sequence-Subject';
const EXPECTED = 'Nats-Expected-Last-Subject-Sequence';

/** A message from the response to a read, of the leader or a direct one. */
type MessageOfRead = Pick<StoredMsg, 'subject' | 'seq' | 'time' | 'data'> & {
  readonly header: Pick<MsgHdrs, 'get'>;
};

export const fromStored = (message: MessageOfRead): StoredMessage => ({
  subject: message.subject,
  sequence: message.seq,
  time: message.time.toISOString(),
  ...fenceIn(message.header),
  body: parseJson(message.data),
  data: message.data,
});

/** What a message was appended on, and its trace. */
type Fence = Pick<StoredMessage, 'fence' | 'expectedSequence' | 'traceparent'>;

const fenceIn = (headers: Pick<MsgHdrs, 'get'> | undefined): Fence => {
  const fence = headers?.get(FENCE) ?? '';
  const expected = headers?.get(EXPECTED) ?? '';
  const traceparent = headers?.get('traceparent') ?? '';
  return {
    fence: fence === '' ? null : fence,
    expectedSequence: /^\d{1,15}$/.test(expected) ? Number(expected) : null,
    ...(traceparent === '' ? {} : { traceparent }),
  };
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Undefined when the data is not JSON in UTF-8. Numbers of users are as they wrote them. */
export const parseJson = (data: Uint8Array): unknown => {
  let text: string;
  try {
    text = utf8.decode(data);
  } catch {
    return undefined;
  }
  return parseJsonText(text);
};

const STATUS = /^NATS\/1\.0 +(\d+)/;

/**
 * The headers of a message as the broker sent them, searched when one is read. The driver's own take longer to make than everything
 * else about a message: it checks and copies each name and each value, of which readers need two or three.
 */
export class HeaderText implements Pick<MsgHdrs, 'get' | 'last' | 'code'> {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Undefined for a message without headers. @throws TypeError for a message of another driver */
  static of(message: Msg): HeaderText | undefined {
    if (!(message instanceof MsgImpl)) throw new TypeError('The message is not one of this driver.');
    const { _msg, _rdata } = message;
    return _msg.hdr < 0
      ? undefined
      : new HeaderText(Buffer.from(_rdata.buffer, _rdata.byteOffset, _msg.hdr).toString());
  }

  /** The status, when the broker sent one instead of a message; otherwise 0. */
  get code(): number {
    return Number(STATUS.exec(this.#text)?.[1] ?? 0);
  }

  /** The first value of a name, in the case that is given; empty for none. */
  get(name: string): string {
    const line = lineOf(name);
    return this.#valueBehind(line, this.#text.indexOf(line));
  }

  /** The last value, as `get`: the broker writes its own headers behind those of a stored message. */
  last(name: string): string {
    const line = lineOf(name);
    return this.#valueBehind(line, this.#text.lastIndexOf(line));
  }

  #valueBehind(line: string, at: number): string {
    if (at === -1) return '';
    const begin = at + line.length;
    const end = this.#text.indexOf('\r\n', begin);
    return this.#text.slice(begin, end === -1 ? undefined : end).trim();
  }
}

const lineOf = (name: string): string => `\r\n${name}:`;

/**
 * A message as a consumer delivers it. Its headers and its content are decoded when they are read first: most readers need those of
 * some messages only.
 */
export class DeliveredMessage implements StoredMessage {
  /** In the stream. */
  readonly sequence: number;
  /** The number of its delivery by the consumer, from 1. */
  readonly deliverySequence: number;
  /** How many messages the consumer had not delivered yet when it delivered this one. */
  readonly pending: number;
  /** The broker's time of it, in nanoseconds since 1970. These do not fit into a float. */
  readonly nanos: string;
  readonly #message: Msg;
  #fence: Fence | undefined;
  #body: { readonly parsed: unknown } | undefined;
  #time: string | undefined;

  /** @throws TypeError when no consumer delivered it */
  constructor(message: Msg) {
    // $JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<delivery sequence>.<nanoseconds>.<pending>. A server may name a domain and
    // an account before the stream, and one token may follow.
    const tokens = (message.reply ?? '').split('.');
    const first = tokens.length === 9 ? 5 : 7;
    const [sequence = '', delivery = '', nanos = '', pending = ''] = tokens.slice(first);
    if (tokens[1] !== 'ACK' || pending === '')
      throw new TypeError(`A message on ${message.subject} is not one of a consumer.`);
    this.#message = message;
    this.sequence = Number(sequence);
    this.deliverySequence = Number(delivery);
    this.pending = Number(pending);
    this.nanos = nanos;
  }

  get subject(): string {
    return this.#message.subject;
  }

  get data(): Uint8Array {
    return this.#message.data;
  }

  get headers(): MsgHdrs | undefined {
    return this.#message.headers;
  }

  get body(): unknown {
    this.#body ??= { parsed: parseJson(this.data) };
    return this.#body.parsed;
  }

  get fence(): string | null {
    return this.#fenced.fence;
  }

  get expectedSequence(): number | null {
    return this.#fenced.expectedSequence;
  }

  get traceparent(): string | undefined {
    return this.#fenced.traceparent;
  }

  get time(): string {
    return (this.#time ??= this.storedAt.toISOString());
  }

  get storedAt(): Date {
    return new Date(Number(this.nanos.slice(0, -6)));
  }

  /** @throws when the connection is closed */
  acknowledge(): void {
    this.#message.respond('+ACK');
  }

  get #fenced(): Fence {
    this.#fence ??= fenceIn(HeaderText.of(this.#message));
    return this.#fence;
  }
}

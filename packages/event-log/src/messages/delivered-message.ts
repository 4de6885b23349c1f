import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { Msg, MsgHdrs } from '@nats-io/transport-node';
import { fenceIn, HeaderText, parseJson, type Fence } from './stored-message.ts';

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

import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { StoredMsg } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/transport-node';

const FENCE = 'Nats-Expected-Last-Subject-Sequence-Subject';
const EXPECTED = 'Nats-Expected-Last-Subject-Sequence';

/** A message from the response to a read. */
export const fromStored = (
  message: Pick<StoredMsg, 'subject' | 'seq' | 'time' | 'header' | 'data'>,
): StoredMessage => ({
  subject: message.subject,
  sequence: message.seq,
  time: message.time.toISOString(),
  ...fenceIn(message.header),
  body: parseJson(message.data),
  data: message.data,
});

/** What a message was appended on, and its trace. */
export type Fence = Pick<StoredMessage, 'fence' | 'expectedSequence' | 'traceparent'>;

export const fenceIn = (headers: MsgHdrs | undefined): Fence => {
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

/** Undefined when the data is not JSON in UTF-8. */
export const parseJson = (data: Uint8Array): unknown => {
  try {
    return JSON.parse(utf8.decode(data));
  } catch {
    return undefined;
  }
};

import type { DirectBatchOptions, DirectLastFor, StoredMsg } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { TimeoutError, type Msg } from '@nats-io/transport-node';
import { hedge } from '@runledger/resilience/hedge';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { fromStored, HeaderText } from './stored-message.ts';

/** A message from the response to a direct read. */
export interface DirectMessage extends Pick<StoredMsg, 'subject' | 'seq' | 'time' | 'data'> {
  readonly header: HeaderText;
}

export interface DirectRead {
  readonly messages: readonly DirectMessage[];
  /**
   * The replica had everything up to this sequence when it read the last messages of subjects. 0 when it does not say: for
   * another query, and for a response without messages.
   */
  readonly upTo: number;
  /** How many more there are than the query's `max_bytes` let through; 0 where the end of the response does not say it. */
  readonly left: number;
}

const END_OF_BATCH = 204;
const NOT_FOUND = 404;

/** A server of a cluster that is frozen gets its part of the reads until the others have left it, for up to three seconds. */
const HEDGE = { afterMs: 200, requests: 4 };
const RESPONSE_WITHIN_MS = 2_000;

/** Reads messages from any replica, again until one responds. `what` is for the error. @throws {LogUnavailable} */
export const readDirect = (
  log: EventLog,
  stream: string,
  query: DirectLastFor | DirectBatchOptions,
  what: string,
): Promise<DirectRead> => callBroker(what, () => hedge(HEDGE, () => readOnce(log, stream, query)));

/**
 * The last message under a subject, from any replica, which may not have the newest yet; null for none. The broker can limit a
 * reader to its own subjects. @throws {LogUnavailable}
 */
export const readDirectLast = (
  log: EventLog,
  stream: string,
  subject: string,
): Promise<DirectMessage | null> =>
  readOne(log, stream, { request: `${stream}.${subject}`, what: `reading the message under ${subject}` });

/** The first message under a filter from a sequence on, from any replica, as `readDirectLast`. @throws {LogUnavailable} */
export const readDirectNext = (
  log: EventLog,
  stream: string,
  from: number,
  filter: string,
): Promise<DirectMessage | null> =>
  readOne(log, stream, {
    request: stream,
    query: { seq: from, next_by_subj: filter },
    what: `reading the message under ${filter} from ${from} on`,
  });

/**
 * How many messages there are under a filter, of those that were stored at a time or later if one is given, as any replica has them. They
 * are not read, but for the first. @throws {LogUnavailable}
 */
export const countDirect = async (
  log: EventLog,
  stream: string,
  filter: string,
  since?: Date,
): Promise<number> => {
  // Of a batch the broker also says how many follow.
  const from = since === undefined ? { seq: 1 } : { start_time: since.toISOString() };
  const query = { ...from, next_by_subj: filter, batch: 1 };
  const first = await readOne(log, stream, { request: stream, query, what: `counting ${filter}` });
  return first === null ? 0 : 1 + Number(first.header.last('Nats-Num-Pending'));
};

interface SingleRead {
  /** The end of the subject of the request. */
  readonly request: string;
  readonly query?: object;
  readonly what: string;
}

const readOne = (
  log: EventLog,
  stream: string,
  { request, query, what }: SingleRead,
): Promise<DirectMessage | null> => {
  const subject = `${log.apiPrefix}.DIRECT.GET.${request}`;
  const body = query === undefined ? '' : JSON.stringify(query);
  // The driver's own function cannot be hedged: it has its own time and repeats.
  const ask = (): Promise<Msg> => log.nc.request(subject, body, { timeout: RESPONSE_WITHIN_MS });
  return callBroker(what, async () => {
    const response = await hedge(HEDGE, ask);
    const header = headerOf(response, stream);
    if (header.code === NOT_FOUND) return null;
    if (header.code !== 0) throw new DirectReadRefused(stream, response);
    return messageOf(response, header);
  });
};

/** In one request. The driver's own function does not give what the end of the response says. */
const readOnce = async (
  log: EventLog,
  stream: string,
  query: DirectLastFor | DirectBatchOptions,
): Promise<DirectRead> => {
  const messages: DirectMessage[] = [];
  const responses = await log.nc.requestMany(`${log.apiPrefix}.DIRECT.GET.${stream}`, JSON.stringify(query), {
    strategy: 'timer',
    maxWait: RESPONSE_WITHIN_MS,
    noMux: true,
  });
  for await (const response of responses) {
    const header = headerOf(response, stream);
    switch (header.code) {
      case 0:
        messages.push(messageOf(response, header));
        break;
      case END_OF_BATCH:
        return {
          messages,
          upTo: Number(header.get('Nats-UpTo-Sequence')),
          left: Number(header.get('Nats-Num-Pending')),
        };
      case NOT_FOUND:
        return { messages, upTo: 0, left: 0 };
      default:
        throw new DirectReadRefused(stream, response);
    }
  }
  throw new TimeoutError();
};

/** The broker refused a direct read; `code` is the status. */
class DirectReadRefused extends Error {
  override readonly name = 'DirectReadRefused';
  readonly code: number;

  constructor(stream: string, { headers }: Msg) {
    super(`the broker refused a direct read of ${stream}: ${headers?.status}`);
    this.code = headers?.code ?? 0;
  }
}

const headerOf = (response: Msg, stream: string): HeaderText => {
  const header = HeaderText.of(response);
  if (!header) throw new Error(`a response to a direct read of ${stream} has no headers`);
  return header;
};

const messageOf = ({ data }: Msg, header: HeaderText): DirectMessage => ({
  subject: header.last('Nats-Subject'),
  seq: Number(header.last('Nats-Sequence')),
  time: new Date(header.last('Nats-Time-Stamp')),
  header,
  data,
});

/**
 * The last messages of RUNS on these subjects, from any replica. Each subject is read by a request of its own, because a reader
 * may be limited to its own subjects. @throws {LogUnavailable}
 */
export const lastOfSubjects = async (
  log: EventLog,
  subjects: readonly string[],
): Promise<readonly StoredMessage[]> => {
  const reads = await Promise.all(subjects.map((subject) => readDirectLast(log, 'RUNS', subject)));
  return reads.flatMap((message) => (message === null ? [] : [fromStored(message)]));
};

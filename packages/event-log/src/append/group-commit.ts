import { randomBytes } from 'node:crypto';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { isJsonObject } from '@runledger/contracts/json';
import { CALL_WITHIN_MS } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { parseJson } from '../read/stored-message.ts';
import { nextAppends, type WaitingAppend } from './next-appends.decide.ts';
import { publish, type Publication, type Published } from './publish.ts';

/** After a batch that was not committed. The stream may not allow batches, or the broker may have an outage. */
const SINGLY_FOR_MS = 1_000;
/** What is in flight may have no response for long. What waits is looked at so often, and waits no longer than until the second look. */
const LOOK_EVERY_MS = 250;

interface Waiting extends WaitingAppend {
  readonly message: FencedPublication;
  readonly since: number;
  readonly settle: (outcome: Published | Promise<Published>) => void;
}

/** The appends of one connection. */
interface Appends {
  waiting: Waiting[];
  singly: number;
  isBatch: boolean;
  singlyUntil: number;
  look: NodeJS.Timeout | undefined;
}

const appendsOf = new WeakMap<EventLog, Appends>();

/**
 * As `publish`, with the same outcomes, for messages of one stream. When few are in flight, each is sent at once. When many are, those
 * that wait are sent together, and the broker flushes them together.
 * @throws as `publish`
 */
export const publishTogether = (log: EventLog, message: FencedPublication): Promise<Published> => {
  let appends = appendsOf.get(log);
  if (!appends) {
    appends = { waiting: [], singly: 0, isBatch: false, singlyUntil: 0, look: undefined };
    appendsOf.set(log, appends);
  }
  const { promise, resolve: settle } = Promise.withResolvers<Published>();
  const [chain, bytes] = [message.fence.filter, message.data.byteLength];
  appends.waiting.push({ message, chain, bytes, since: performance.now(), settle });
  sendNext(log, appends);
  return promise;
};

const sendNext = (log: EventLog, appends: Appends): void => {
  if (appends.waiting.length === 0) return;
  if (!log.connected() || performance.now() < appends.singlyUntil) return sendAll(log, appends);
  const { singly, together, waiting } = nextAppends(appends.waiting, appends);
  if (waiting.length < appends.waiting.length) appends.waiting = [...waiting];
  sendSingly(log, appends, singly);
  if (together.length > 0) void sendTogether(log, appends, together);
  if (waiting.length > 0) appends.look ??= setTimeout(sendLate, LOOK_EVERY_MS, log, appends).unref();
};

const sendLate = (log: EventLog, appends: Appends): void => {
  appends.look = undefined;
  const [oldest] = appends.waiting;
  if (oldest && performance.now() - oldest.since >= LOOK_EVERY_MS) sendAll(log, appends);
  sendNext(log, appends);
};

const sendAll = (log: EventLog, appends: Appends): void => {
  const all = appends.waiting;
  appends.waiting = [];
  sendSingly(log, appends, all);
};

const sendSingly = (log: EventLog, appends: Appends, all: readonly Waiting[]): void =>
  all.forEach((one) => one.settle(sendOne(log, appends, one)));

const sendOne = async (log: EventLog, appends: Appends, { message, since }: Waiting): Promise<Published> => {
  appends.singly += 1;
  try {
    const waitedMs = Math.floor(performance.now() - since);
    return await publish(log, { ...message, withinMs: CALL_WITHIN_MS - waitedMs });
  } finally {
    appends.singly -= 1;
    sendNext(log, appends);
  }
};

const sendTogether = async (log: EventLog, appends: Appends, together: readonly Waiting[]): Promise<void> => {
  appends.isBatch = true;
  try {
    const messages = together.map(({ message }) => message);
    const first = await publishBatch(log, messages);
    together.forEach(({ settle }, index) => settle({ kind: 'stored', sequence: first + index }));
  } catch (error) {
    log.logger.debug({ err: error, messages: together.length }, 'a batch of messages was not committed');
    appends.singlyUntil = performance.now() + SINGLY_FOR_MS;
    // Each finds out by itself, by its id and its fence: stored now or with the batch, a conflict, no room, or unknown.
    sendSingly(log, appends, together);
  } finally {
    appends.isBatch = false;
    sendNext(log, appends);
  }
};

/** Longer than the first try of a single message: a batch is some flushes of the disk, behind those of the appends before it. */
const COMMITTED_WITHIN_MS = 1_000;

/**
 * Stores messages of one stream together, each with its own id and on its own fence, or none of them. Returns the sequence of the
 * first. The others follow it, in this order, without a gap.
 * @throws when the broker refuses the batch, or does not respond: then each message may or may not be stored
 */
const publishBatch = async (log: EventLog, messages: readonly FencedPublication[]): Promise<number> => {
  const batch = newBatchId();
  const before = messages.slice(0, -1);
  const last = messages.at(-1);
  if (!last) throw new TypeError('A batch needs a message.');
  before.forEach((message, index) => {
    log.nc.publish(message.subject, message.data, { headers: headersOf(message, batch, index + 1) });
  });
  const commit = headersOf(last, batch, messages.length);
  commit.set('Nats-Batch-Commit', '1');
  const response = await log.nc.request(last.subject, last.data, {
    timeout: COMMITTED_WITHIN_MS,
    headers: commit,
  });
  const acknowledged = parseJson(response.data);
  const { stream, batch: committed, count, seq } = isJsonObject(acknowledged) ? acknowledged : {};
  const isCommitted = stream === last.stream && committed === batch && count === messages.length;
  if (isCommitted && typeof seq === 'number') return seq - messages.length + 1;
  throw new Error(`The broker did not commit a batch: ${response.string().slice(0, 300)}`);
};

/** Unlike that of any open batch. It is stored with each message, so it is short. */
const newBatchId = (): string => randomBytes(9).toString('base64url');

/** As the driver writes them. It has batches of its own, which drop fences and ids, and the reason of a refusal (3.4.0). */
const headersOf = (
  { id, fence, traceparent }: FencedPublication,
  batch: string,
  position: number,
): MsgHdrs => {
  const made = headers();
  if (traceparent !== undefined) made.set('traceparent', traceparent);
  made.set('Nats-Msg-Id', id);
  made.set('Nats-Expected-Last-Subject-Sequence', String(fence.sequence));
  made.set('Nats-Expected-Last-Subject-Sequence-Subject', fence.filter);
  made.set('Nats-Batch-Id', batch);
  made.set('Nats-Batch-Sequence', String(position));
  return made;
};

/** A message with a fence, and without what only a single message may have. */
export interface FencedPublication extends Pick<
  Publication,
  'stream' | 'subject' | 'data' | 'id' | 'traceparent'
> {
  readonly fence: NonNullable<Publication['fence']>;
}

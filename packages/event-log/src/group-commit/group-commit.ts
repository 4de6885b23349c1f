import { CALL_WITHIN_MS } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { publish, type Published } from '../messages/publish.ts';
import { nextAppends, type WaitingAppend } from './core/next-appends.ts';
import type { FencedPublication } from './fenced-publication.ts';
import { publishBatch } from './publish-batch.ts';

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

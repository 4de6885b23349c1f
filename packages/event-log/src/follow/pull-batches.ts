import type { ConsumerInfo, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import { onConsumerLost } from './consumer-lost.ts';
import type { EventLog } from '../connect/event-log.ts';

/** Bounds what is held in memory: an event has up to 1 MiB. */
const MAX_BATCH = 256;
/** Also how long a message stays unread that was lost on its way while nothing came behind it. */
const PULL_FOR_MS = 10_000;
/** A broker that misses two of these counts as lost. */
const IDLE_HEARTBEAT_MS = 2_000;

/**
 * Sends one pull after the other until the signal; a pull delivers what comes until it is used up. Each batch is what came while
 * the last one was handled.
 * @throws when the connection, a heartbeat or a message of the delivery is lost, behind an empty message, and what `take` throws
 */
export const pullBatches = async (
  log: EventLog,
  info: ConsumerInfo,
  take: (messages: readonly JsMsg[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> => {
  const consumer = log.js.consumers.getConsumerFromInfo(info);
  let delivered = 0;
  while (!signal.aborted) {
    const pulled = await consumer.fetch({
      max_messages: MAX_BATCH,
      expires: PULL_FOR_MS,
      idle_heartbeat: IDLE_HEARTBEAT_MS,
    });
    const stop = (): void => pulled.stop();
    signal.addEventListener('abort', stop, { once: true });
    // The signal may have aborted while the pull was sent.
    if (signal.aborted) stop();
    // Left alone, the driver may wait half a minute before it retries a broker that was not ready at once.
    let lost = false;
    const offLost = onConsumerLost(log, info, () => {
      lost = true;
      pulled.stop();
    });
    try {
      for await (const messages of batches(pulled)) {
        if (signal.aborted) return;
        for (const message of messages) {
          delivered += 1;
          const { deliverySequence } = message.info;
          if (deliverySequence !== delivered) {
            throw new Error(`message ${deliverySequence} of the delivery came, and ${delivered} is missing`);
          }
        }
        await take(messages);
        if (mayEndDelivery(messages.at(-1))) throw new Error('an empty message may have ended the delivery');
      }
    } finally {
      offLost();
      signal.removeEventListener('abort', stop);
      pulled.stop();
    }
    if (lost) throw new Error('the broker of the connection or of the consumer was lost during a pull');
    if (pulled.getReceived() < MAX_BATCH && !signal.aborted) await checkDelivered(log, info, delivered);
  }
};

/**
 * Between a pull that has expired and the next one nothing is on its way. The broker counts as delivered also what it has sent for
 * a pull that was given up, or to a server that was just gone; with nothing behind it, no gap shows that it is missing.
 */
const checkDelivered = async (log: EventLog, info: ConsumerInfo, received: number): Promise<void> => {
  const { stream_name: stream, name } = info;
  const { delivered } = await callBroker(`reading the consumer ${name} of ${stream}`, () =>
    log.jsm.consumers.info(stream, name),
  );
  if (delivered.consumer_seq > received) {
    throw new Error(`the broker has delivered ${delivered.consumer_seq} messages, of which ${received} came`);
  }
};

/**
 * To a reader in another account, and at another server than its consumer, the broker passes nothing on behind a message without
 * payload and headers: it takes that for the end of the responses (https://github.com/nats-io/nats-server/issues/3180).
 */
const mayEndDelivery = (message: JsMsg | undefined): boolean =>
  message?.data.length === 0 && message.headers === undefined;

/**
 * What came since the last batch was handled. Messages are taken from the driver as they come: it would count the time in which a
 * batch is handled as missed heartbeats, and drop what it holds.
 */
async function* batches(pulled: ConsumerMessages): AsyncGenerator<readonly JsMsg[]> {
  const received: JsMsg[] = [];
  const over = new AbortController();
  let arrival = Promise.withResolvers<void>();
  const receive = async (): Promise<void> => {
    for await (const message of pulled) {
      received.push(message);
      // The driver's iterator counts the messages that it has received and not given.
      if (pulled.getPending() === 0) arrival.resolve();
    }
  };
  const receiving = receive().finally(() => {
    over.abort();
    arrival.resolve();
  });
  // It is awaited below, after everything that came before a failure.
  receiving.catch(() => undefined);
  while (!over.signal.aborted) {
    await arrival.promise;
    arrival = Promise.withResolvers();
    if (received.length > 0) yield received.splice(0);
  }
  if (received.length > 0) yield received.splice(0);
  await receiving;
}

import type { ConsumerInfo } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import type { DeliveredMessage } from '../read/stored-message.ts';
import { openPulls } from './open-pulls.ts';

interface PullBatches {
  readonly take: (messages: readonly DeliveredMessage[]) => Promise<void>;
  /**
   * Milliseconds between a batch that is not full and the next pull. 0 has each message delivered as it is stored. A pause delays a
   * reader of many messages by as much, and spares it and the broker most of the work: one wake-up, one read and one write for each
   * batch instead of for each message. The first message after a silence is delivered at once in any case.
   */
  readonly pauseMs: number;
}

/** Bounds what is held in memory: an event has up to 1 MiB. */
const MAX_BATCH = 256;

/**
 * Sends one pull after the other until the signal. Without a pause a pull delivers what comes until it is used up, and each batch is
 * what came while the last one was handled. With a pause a batch is what the consumer has.
 * @throws when the connection, a heartbeat or a message of the delivery is lost, behind an empty message, and what `take` throws
 */
export const pullBatches = async (
  log: EventLog,
  info: ConsumerInfo,
  { take, pauseMs }: PullBatches,
  signal: AbortSignal,
): Promise<void> => {
  using pulls = openPulls(log, info);
  const request = { messages: MAX_BATCH, once: pauseMs > 0 };
  // A pull that ends with fewer messages has expired.
  const least = request.once ? 1 : MAX_BATCH;
  signal.addEventListener('abort', pulls.stop, { once: true });
  let lost = false;
  const offLost = onConsumerLost(log, info, () => {
    lost = true;
    pulls.stop();
  });
  let delivered = 0;
  try {
    while (!signal.aborted) {
      pulls.send(request);
      const before = delivered;
      for (let messages = await pulls.next(); messages.length > 0; messages = await pulls.next()) {
        if (signal.aborted) return;
        delivered = checkOrder(messages, delivered);
        await take(messages);
        if (mayEndDelivery(messages.at(-1))) throw new Error('an empty message may have ended the delivery');
      }
      if (signal.aborted) return;
      if (lost) throw new Error('the broker of the connection or of the consumer was lost during a pull');
      const received = delivered - before;
      if (received < least) await checkDelivered(log, info, delivered);
      // Behind a full one there is more.
      else if (received < MAX_BATCH) await sleep(pauseMs, signal);
    }
  } finally {
    offLost();
    signal.removeEventListener('abort', pulls.stop);
  }
};

/** @throws when a message is missing */
const checkOrder = (messages: readonly DeliveredMessage[], before: number): number => {
  let delivered = before;
  for (const { deliverySequence } of messages) {
    delivered += 1;
    if (deliverySequence !== delivered) {
      throw new Error(`message ${deliverySequence} of the delivery came, and ${delivered} is missing`);
    }
  }
  return delivered;
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
const mayEndDelivery = (message: DeliveredMessage | undefined): boolean =>
  message?.data.length === 0 && message.headers === undefined;

const ANSWER_WITHIN_MS = 1_000;

/**
 * Calls the listener as soon as a consumer delivers nothing more to what was sent until now: after a reconnect, and when its server
 * has left the cluster. Returns a function that removes the listener. Without it, missed heartbeats would tell some seconds later.
 */
const onConsumerLost = (log: EventLog, consumer: ConsumerInfo, lost: () => void): (() => void) => {
  const check = async (): Promise<void> => {
    const asked = log.jsm.consumers.info(consumer.stream_name, consumer.name).catch(() => undefined);
    const found = await within(ANSWER_WITHIN_MS, asked, () => undefined);
    if (found?.cluster?.leader !== consumer.cluster?.leader) lost();
  };
  const offReconnect = log.onReconnect(lost);
  const offLeft = log.onServerLeft(() => void check());
  return () => {
    offReconnect();
    offLeft();
  };
};

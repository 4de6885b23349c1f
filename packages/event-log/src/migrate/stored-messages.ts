import type { JsMsg } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { isTransient } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { openEphemeralConsumer, type StartPosition } from '../follow/ephemeral-consumer.ts';

/** Bounds what is held in memory: a message has up to 1 MiB. */
const BATCH = 100;
const BATCH_WITHIN_MS = 10_000;
const IDLE_HEARTBEAT_MS = 2_000;
const RETRY_MS = 250;
/** Without any message. */
const STUCK_AFTER_MS = 60_000;

/**
 * All messages of a stream in their order, up to what is the last one then. After an interruption it goes on with another consumer: one
 * that was just created may not be known yet at the server of this connection. @throws {LogUnavailable}
 */
export async function* storedMessages(log: EventLog, stream: string): AsyncGenerator<JsMsg> {
  let after = 0;
  for (let stuckAt = performance.now() + STUCK_AFTER_MS; ;) {
    try {
      for await (const message of messagesAfter(log, stream, after)) {
        after = message.seq;
        yield message;
        stuckAt = performance.now() + STUCK_AFTER_MS;
      }
      return;
    } catch (error) {
      const mayGoOn = error instanceof Interrupted || isTransient(error);
      if (mayGoOn && performance.now() < stuckAt) await sleep(RETRY_MS);
      else throw mayGoOn ? unavailable(stream, error) : error;
    }
  }
}

/** Messages are missing in the delivery, or do not come. */
class Interrupted extends Error {}

const unavailable = (stream: string, cause: unknown): LogUnavailable =>
  new LogUnavailable(`Stream ${stream} cannot be read. Check that all brokers run, and try again.`, {
    cause,
  });

async function* messagesAfter(log: EventLog, stream: string, after: number): AsyncGenerator<JsMsg> {
  const begin = startAfter(after);
  const open = await openEphemeralConsumer(log, { stream, subjects: [], begin: () => begin });
  const consumer = log.js.consumers.getConsumerFromInfo(open.info);
  let delivered = 0;
  try {
    for (let pending = open.pending; pending > 0;) {
      const batch: JsMsg[] = [];
      const fetched = await consumer.fetch({
        max_messages: Math.min(BATCH, pending),
        expires: BATCH_WITHIN_MS,
        idle_heartbeat: IDLE_HEARTBEAT_MS,
      });
      // They are taken from the driver at once: it would count the time in which they are handled as missed heartbeats.
      for await (const message of fetched) batch.push(message);
      for (const message of batch) {
        delivered += 1;
        if (message.info.deliverySequence !== delivered) throw new Interrupted('a message is missing');
        yield message;
      }
      const last = batch.at(-1);
      if (!last) throw new Interrupted('no message came');
      pending = last.info.pending;
    }
  } finally {
    await open.delete();
  }
}

const startAfter = (sequence: number): StartPosition =>
  sequence === 0
    ? { deliver_policy: 'all' }
    : { deliver_policy: 'by_start_sequence', opt_start_seq: sequence + 1 };

import type { JsMsg } from '@nats-io/jetstream';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { openEphemeralConsumer } from '../follow/ephemeral-consumer.ts';

/** Bounds what is held in memory: a message has up to 1 MiB. */
const BATCH = 100;
const BATCH_WITHIN_MS = 10_000;
const IDLE_HEARTBEAT_MS = 2_000;

/** All messages of a stream in their order, up to what is the last one then. @throws {LogUnavailable} */
export async function* storedMessages(log: EventLog, stream: string): AsyncGenerator<JsMsg> {
  const begin = { deliver_policy: 'all' } as const;
  const open = await openEphemeralConsumer(log, {
    stream,
    subjects: [],
    begin: () => begin,
  });
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
        if (message.info.deliverySequence !== delivered) throw interrupted(stream);
        yield message;
      }
      const last = batch.at(-1);
      if (!last) throw interrupted(stream);
      pending = last.info.pending;
    }
  } finally {
    await open.delete();
  }
}

const interrupted = (stream: string): LogUnavailable =>
  new LogUnavailable(`Reading stream ${stream} was interrupted. Check that all brokers run, and try again.`);

import { Objm, type ObjectStore } from '@nats-io/obj';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { within } from '@runledger/resilience/within';

/** For each chunk: the broker flushes it to disk. A snapshot may have any number of chunks. */
const CHUNK_WITHIN_MS = 30_000;

/**
 * Replaces the snapshot of this name. The bytes are made again for each try.
 * @throws {LogUnavailable}
 */
export const saveSnapshot = async (
  log: EventLog,
  name: string,
  bytes: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> => {
  const store = await openStore(log);
  const put = () => store.put({ name }, ReadableStream.from(bytes()), { timeout: CHUNK_WITHIN_MS });
  await callBroker(`saving the snapshot ${name}`, put, CHUNK_WITHIN_MS);
};

/**
 * The bytes of the snapshot of this name; undefined when there is none. Reading them throws LogUnavailable while the broker
 * is unavailable, and another error when the snapshot is damaged or was replaced meanwhile. @throws {LogUnavailable}
 */
export const loadSnapshot = async (
  log: EventLog,
  name: string,
): Promise<AsyncIterable<Uint8Array> | undefined> => {
  const store = await openStore(log);
  const found = await callBroker(`loading the snapshot ${name}`, () => store.get(name));
  if (!found) return undefined;
  // The reader of the bytes gets the same error.
  found.error.catch(() => undefined);
  return chunksOf(log, name, found.data);
};

async function* chunksOf(
  log: EventLog,
  name: string,
  data: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const reader = data.getReader();
  try {
    for (;;) {
      // The driver waits without end for the chunks of a snapshot that another scheduler replaces meanwhile.
      const { done, value } = await within(CHUNK_WITHIN_MS, reader.read(), () => {
        if (!log.connected())
          throw new LogUnavailable(`loading the snapshot ${name}: the broker is unavailable`);
        throw new Error(`the snapshot ${name} was replaced while it was read`);
      });
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

const openStore = (log: EventLog): Promise<ObjectStore> =>
  callBroker('opening the object store SNAPSHOTS', () =>
    new Objm(log.js).open('SNAPSHOTS', { check: false }),
  );

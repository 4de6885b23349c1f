import { Objm, type ObjectStore } from '@nats-io/obj';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { within } from '@runledger/resilience/within';

/** A snapshot is large, and the broker flushes each of its chunks to disk. */
const WRITE_WITHIN_MS = 30_000;
const READ_WITHIN_MS = 30_000;

/** Replaces the snapshot of this name. @throws {LogUnavailable} */
export const saveSnapshot = async (log: EventLog, name: string, bytes: Uint8Array): Promise<void> => {
  const store = await openStore(log);
  const put = () => store.putBlob({ name }, bytes, { timeout: WRITE_WITHIN_MS });
  await callBroker(`saving the snapshot ${name}`, put, WRITE_WITHIN_MS);
};

/**
 * The snapshot of this name. Undefined when there is none or when it is damaged, because the state can be derived from
 * the log again. @throws {LogUnavailable}
 */
export const loadSnapshot = async (log: EventLog, name: string): Promise<Uint8Array | undefined> => {
  const store = await openStore(log);
  const what = `loading the snapshot ${name}`;
  const info = await callBroker(what, () => store.info(name));
  if (!info || info.deleted) return undefined;
  try {
    const reading = callBroker(what, () => store.getBlob(name));
    // The driver never stops waiting for the chunks of a snapshot that another scheduler replaces meanwhile.
    const bytes = await within(READ_WITHIN_MS, reading, () => {
      throw new Error(`the snapshot ${name} was replaced while it was read`);
    });
    return bytes ?? undefined;
  } catch (error) {
    if (!(error instanceof Error) || !/corrupt|was replaced/.test(error.message)) throw error;
    log.logger.error({ err: error, snapshot: name }, 'the snapshot is damaged and is not used');
    return undefined;
  }
};

const openStore = (log: EventLog): Promise<ObjectStore> =>
  callBroker('opening the object store SNAPSHOTS', () =>
    new Objm(log.js).open('SNAPSHOTS', { check: false }),
  );

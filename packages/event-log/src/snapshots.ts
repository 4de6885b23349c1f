import { Objm } from '@nats-io/obj';
import type { ObjectStore } from '@nats-io/obj';
import { within } from '@runledger/resilience/within';
import { callBroker } from './connect/broker-call.ts';
import type { EventLog } from './connect/event-log.ts';

/** A snapshot is large, and each of its pieces is flushed. */
const WRITTEN_WITHIN_MS = 30_000;
const READ_WITHIN_MS = 30_000;

/** Replaces the snapshot of this name. @throws {LogUnavailable} */
export const saveSnapshot = async (log: EventLog, name: string, bytes: Uint8Array): Promise<void> => {
  const store = await openStore(log);
  const put = () => store.putBlob({ name }, bytes, { timeout: WRITTEN_WITHIN_MS });
  await callBroker(`saving the snapshot ${name}`, put, WRITTEN_WITHIN_MS);
};

/**
 * The snapshot of this name; undefined when there is none, or when it is damaged: it is derived, and can be
 * derived again.
 * @throws {LogUnavailable}
 */
export const loadSnapshot = async (log: EventLog, name: string): Promise<Uint8Array | undefined> => {
  const store = await openStore(log);
  const what = `loading the snapshot ${name}`;
  const info = await callBroker(what, () => store.info(name));
  if (!info || info.deleted) return undefined;
  try {
    const reading = callBroker(what, () => store.getBlob(name));
    // The driver waits for ever for the pieces of a snapshot that another scheduler replaces meanwhile.
    const bytes = await within(READ_WITHIN_MS, reading, () => {
      throw new Error(`the snapshot ${name} was replaced while it was read`);
    });
    return bytes ?? undefined;
  } catch (error) {
    if (!(error instanceof Error) || !/corrupt|was replaced/.test(error.message)) throw error;
    log.logger.error({ err: error, snapshot: name }, 'a snapshot cannot be read and is not used');
    return undefined;
  }
};

const openStore = (log: EventLog): Promise<ObjectStore> =>
  callBroker('opening the object store SNAPSHOTS', () =>
    new Objm(log.js).open('SNAPSHOTS', { check: false }),
  );

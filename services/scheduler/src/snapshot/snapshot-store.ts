import { createHash } from 'node:crypto';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { Objm, setSha256Backend, type ObjectStore } from '@nats-io/obj';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import { objectChunks } from '@runledger/event-log/read/read-pages';
import { decodeSnapshot, type DecodedSnapshot, encodeSnapshot } from './snapshot-codec.ts';
import type { Snapshot } from './snapshot-format.ts';

const NAME = 'scheduler';

/** Replaces the snapshot of the scheduler's state, which is taken again for each try. @throws {LogUnavailable} */
export const saveState = async (log: EventLog, take: () => Snapshot): Promise<void> => {
  let saved: Snapshot | undefined;
  await saveSnapshot(log, NAME, () => {
    saved = take();
    return encodeSnapshot(saved);
  });
  const sequence = saved?.position?.sequence ?? 0;
  const runs = (saved?.runs.length ?? 0) + (saved?.rowCount ?? 0);
  log.logger.debug({ sequence, runs }, 'the state is saved');
};

/** The last saved snapshot; undefined when there is none. @throws {LogUnavailable} */
export const loadState = async (log: EventLog): Promise<DecodedSnapshot | undefined> => {
  const bytes = await loadSnapshot(log, NAME);
  return bytes && decodeSnapshot(bytes);
};

/** For each chunk: the broker flushes it to disk. A snapshot may have any number of chunks. */
const CHUNK_WITHIN_MS = 30_000;
/** The broker takes messages of up to 1 MiB, unless it is told otherwise. */
const CHUNK_BYTES = 512 * 1024;
const BUCKET = 'SNAPSHOTS';

// That of Node is many times as fast as the driver's own.
setSha256Backend('native');

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
  const object = { name, options: { max_chunk_size: CHUNK_BYTES } };
  const put = () => store.put(object, ReadableStream.from(bytes()), { timeout: CHUNK_WITHIN_MS });
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
  const found = await callBroker(`loading the snapshot ${name}`, () => store.info(name));
  return found && !found.deleted ? checkedChunks(log, found) : undefined;
};

async function* checkedChunks(
  log: EventLog,
  { nuid, size, digest }: { readonly nuid: string; readonly size: number; readonly digest: string },
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  const object = { stream: `OBJ_${BUCKET}`, subject: `$O.${BUCKET}.C.${nuid}`, from: 1, bytes: size };
  for await (const chunk of objectChunks(log, object)) {
    hash.update(chunk);
    yield chunk;
  }
  const found = `SHA-256=${hash.digest('base64url')}`;
  // The driver pads it.
  if (found !== digest.replace(/=$/, '')) throw new Error(`it is corrupt: ${found} is not ${digest}`);
}

const openStore = (log: EventLog): Promise<ObjectStore> =>
  callBroker('opening the object store SNAPSHOTS', () => new Objm(log.js).open(BUCKET, { check: false }));

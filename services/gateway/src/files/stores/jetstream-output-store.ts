import { Objm, type ObjectInfo, type ObjectStore } from '@nats-io/obj';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import { isFull } from '@runledger/event-log/append/publish';
import { eraseSubjects } from '@runledger/event-log/streams/erase-messages';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { objectChunks, readChunk } from '@runledger/event-log/read/read-pages';
import { messageOf } from '@runledger/resilience/errors';
import {
  DAY_MS,
  isOutputKey,
  openSweeps,
  OutputStoreFull,
  OutputStoreUnavailable,
  storing,
  type OutputStore,
  type OutputStoreAdapter,
  type OutputToStore,
  type StoredOutput,
  type ByteSpan,
} from '../output-store.ts';

const CHUNK_BYTES = 128 * 1024;
const MS_IN_NANOS = 1_000_000;
const STORE_WITHIN_MS = 10_000;
const DIGEST = /^SHA-256=([\w-]{43}=?)$/;

const settings = {};

/** The JetStream object store OUTPUTS, which other tools of NATS can read. The settings of the log limit its size and age. */
export const jetstream: OutputStoreAdapter<typeof settings> = {
  settings,
  needsLog: true,
  open: (_config, { log, logger, now }, place) => {
    const objects = jetstreamFiles(log, BUCKETS[place]);
    // What was never whole expires in OUTPUTS, as all of it does.
    const sweeps =
      place === 'models'
        ? openSweeps(SWEEP_EVERY_MS, async () => {
            await removeIncomplete(log, now().getTime()).catch((err: unknown) =>
              logger.warn({ err }, 'parts of models that were never whole could not be removed'),
            );
          })
        : undefined;
    return {
      ...objects,
      find: async (key) => (isOutputKey(key) ? objects.find(key) : undefined),
      [Symbol.asyncDispose]: async () => sweeps?.[Symbol.asyncDispose](),
    };
  },
};

const BUCKETS = {
  outputs: { bucket: 'OUTPUTS', limit: 'outputsMaxBytes' },
  models: { bucket: 'MODELS', limit: 'modelsMaxBytes' },
} as const;

const SWEEP_EVERY_MS = 6 * 3_600_000;

/** Removes from MODELS the chunks of objects that were not whole a day later: the gateway that stored them was killed. */
export const removeIncomplete = async (log: EventLog, present: number): Promise<void> => {
  const stream = 'OBJ_MODELS';
  const info = { subjects_filter: '$O.MODELS.>' };
  const { state } = await callBroker('listing the objects in MODELS', () =>
    log.jsm.streams.info(stream, info),
  );
  const subjects = Object.keys(state.subjects ?? {});
  const whole = new Set<unknown>();
  for (const subject of subjects.filter((each) => each.startsWith('$O.MODELS.M.'))) {
    const described = await lastMessage(log, stream, subject);
    if (described) whole.add(described.json<ObjectInfo>().nuid);
  }
  for (const subject of subjects.filter((each) => each.startsWith('$O.MODELS.C.'))) {
    if (whole.has(subject.slice('$O.MODELS.C.'.length))) continue;
    const last = await lastMessage(log, stream, subject);
    if (last && last.time.getTime() < present - DAY_MS) await eraseSubjects(log, stream, subject);
  }
};

export interface ObjectBucket {
  readonly bucket: 'ARCHIVE' | 'MODELS' | 'OUTPUTS';
  /** The setting of the log that limits it. */
  readonly limit: string;
}

/** Files in an object store of the broker. */
export const jetstreamFiles = (log: EventLog, { bucket, limit }: ObjectBucket): OutputStore => {
  let opened: Promise<ObjectStore> | undefined;
  const store = (): Promise<ObjectStore> => {
    opened ??= new Objm(log.js).open(bucket).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const info = (key: string): Promise<ObjectInfo | null> =>
    orUnavailable('looking for an output file', async () => (await store()).info(key));
  return {
    put: (output, body) => putObject(store, { bucket, limit }, output, body),
    find: async (key) => {
      const found = await info(key);
      const { filename, content_type } = found?.metadata ?? {};
      if (!found || found.deleted || filename === undefined || content_type === undefined) return undefined;
      return describe({ key, filename, content_type }, found);
    },
    read: async function* (output, span) {
      const found = await info(output.key);
      if (!found || found.deleted) {
        throw new OutputStoreUnavailable(`The output file ${output.filename} is no longer in the store.`);
      }
      yield* readChunks(log, bucket, found, span);
    },
    keepsForMs: () =>
      orUnavailable('reading how long output files are kept', async () => {
        const { ttl } = await (await store()).status();
        return ttl === 0 ? Number.POSITIVE_INFINITY : ttl / MS_IN_NANOS;
      }),
    remove: async (key) => {
      const found = await info(key);
      if (!found) return false;
      // Also when it is deleted: after a crash some of its chunks may be left.
      await orUnavailable('removing an output file', async () => {
        await (await store()).delete(key);
        // The driver leaves the description, which has the file's name.
        await eraseSubjects(log, `OBJ_${bucket}`, descriptionOf(bucket, key));
      });
      return !found.deleted;
    },
  };
};

const putObject = (
  store: () => Promise<ObjectStore>,
  { bucket, limit }: ObjectBucket,
  output: OutputToStore,
  body: AsyncIterable<Uint8Array>,
): Promise<StoredOutput> => {
  const { key, filename, content_type } = output;
  const put = async (pieces: AsyncIterable<Uint8Array>): Promise<StoredOutput> => {
    const about = {
      name: key,
      metadata: { filename, content_type },
      options: { max_chunk_size: CHUNK_BYTES },
    };
    const stored = await (
      await store()
    ).put(about, ReadableStream.from(pieces), { timeout: STORE_WITHIN_MS });
    return describe(output, stored);
  };
  return storing(body, put, (error) =>
    isFull(error) ? full(bucket, limit, error) : unavailable('storing an output file', error),
  );
};

/** As the driver names it: the key in base64 with the alphabet of URLs, padded. */
const descriptionOf = (bucket: string, key: string): string =>
  `$O.${bucket}.M.${Buffer.from(key).toString('base64').replaceAll('+', '-').replaceAll('/', '_')}`;

const describe = (output: OutputToStore, { size, digest, mtime }: ObjectInfo): StoredOutput => {
  const sha256 = DIGEST.exec(digest)?.[1];
  if (sha256 === undefined)
    throw new OutputStoreUnavailable(`The output ${output.key} has an unknown digest.`);
  const { key, filename, content_type } = output;
  return {
    key,
    filename,
    content_type,
    bytes: size,
    sha256: Buffer.from(sha256, 'base64url').toString('hex'),
    stored_at: mtime,
  };
};

const orUnavailable = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw unavailable(what, error);
  }
};

const full = (bucket: string, limit: string, cause: unknown): OutputStoreFull =>
  new OutputStoreFull(
    `The object store ${bucket} of the broker is full. An operator has to raise its limit (${limit} in RUNLEDGER_LOG_SETTINGS), or wait until old files expire`,
    { cause },
  );

const unavailable = (what: string, error: unknown): OutputStoreUnavailable => {
  const why = messageOf(error);
  return new OutputStoreUnavailable(`${what}: the broker failed (${why})`, { cause: error });
};

/** The bytes of an object, from the first to the last one. */
async function* readChunks(
  log: EventLog,
  bucket: string,
  info: ObjectInfo,
  { first, last }: ByteSpan,
): AsyncGenerator<Uint8Array> {
  const stream = `OBJ_${bucket}`;
  const subject = `$O.${bucket}.C.${info.nuid}`;
  const chunkBytes = info.options?.max_chunk_size ?? info.size;
  const skipped = Math.floor(first / chunkBytes);
  try {
    const begin = skipped === 0 ? undefined : await seek(log, stream, subject, info, skipped);
    let offset = begin === undefined ? 0 : skipped * chunkBytes;
    for await (const data of objectChunks(log, {
      stream,
      subject,
      from: begin ?? 1,
      bytes: last + 1 - offset,
    })) {
      const from = offset;
      offset += data.byteLength;
      if (offset > first) yield data.subarray(Math.max(first - from, 0), last + 1 - from);
    }
  } catch (error) {
    const why = messageOf(error);
    throw new OutputStoreUnavailable(`reading an output file: ${why}`, { cause: error });
  }
}

/**
 * The sequence of a chunk by its number, when the chunks have consecutive sequences; undefined when another file was
 * stored at the same time, and they have to be read one by one.
 */
const seek = async (
  log: EventLog,
  stream: string,
  subject: string,
  { chunks }: ObjectInfo,
  number: number,
): Promise<number | undefined> => {
  const [head, tail] = await Promise.all([
    readChunk(log, stream, subject, 1),
    lastMessage(log, stream, subject),
  ]);
  return tail && tail.seq - head.sequence === chunks - 1 ? head.sequence + number : undefined;
};

import { isDeepStrictEqual } from 'node:util';
import type { StoredMsg } from '@nats-io/jetstream';
import type { Static, TSchema } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { CALL_WITHIN_MS, callBroker } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { lastPerSubject } from '../follow/read-to-end.ts';
import { nextMessage } from '../read/leader-read.ts';
import { parseJson, type DeliveredMessage } from '../read/stored-message.ts';
import { createdOf } from '../read/stream-identity.ts';
import { bucketOpener, publishRecord, writeRecord, type BucketName, type Store } from './bucket-writes.ts';

export type { BucketName } from './bucket-writes.ts';

export interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  /** Rises with every change of the bucket; the condition of `update`. */
  readonly revision: number;
  /** The broker's time of this revision. */
  readonly changedAt: Date;
}

/** A value was stored under a key, or deleted with a marker. */
export interface Write {
  readonly key: string;
  readonly revision: number;
}

/** Records by key. Every value is validated when it is written and read. All methods may throw LogUnavailable and, except `updateOnce`, are safe to repeat. */
export interface Bucket<Value> {
  /** Never older than an acknowledged write: buckets allow no direct reads, so the leader responds. */
  get(key: string): Promise<Entry<Value> | undefined>;
  /** The new revision, or false when the key exists. */
  create(key: string, value: Value): Promise<number | false>;
  put(key: string, value: Value): Promise<number>;
  /** As `put`; false, and nothing is written, when the other key has another revision by now, or none. */
  putWhile(key: string, value: Value, other: Write): Promise<number | false>;
  /** The new revision, or false when the key has another revision by now. */
  update(key: string, value: Value, revision: number): Promise<number | false>;
  /** As `update`, with a single request: false means for certain that nothing was written; after LogUnavailable it is unknown. */
  updateOnce(key: string, value: Value, revision: number): Promise<number | false>;
  /** Removes the key completely, also through a kill of the broker. Only the followers of a table learn of it, and only by its own `erase`. */
  erase(key: string): Promise<void>;
  /** Removes the key completely, or returns false when it has a later revision by now. */
  eraseAt(key: string, revision: number): Promise<boolean>;
  /** The entries under `<prefix>.`, or all without a prefix; at most 10,000. */
  list(prefix?: string): Promise<Entry<Value>[]>;
  /**
   * The first present entry under `<prefix>.` behind a revision, of a bucket that keeps one revision of each key: by these, its
   * entries are read in the order in which they were written last.
   */
  next(prefix: string, behind: number): Promise<Entry<Value> | undefined>;
  /**
   * The first write under `<prefix>.` behind a revision; undefined when there is no acknowledged one. Removals by `erase` are
   * not reported.
   */
  nextWrite(prefix: string, behind: number): Promise<Write | undefined>;
}

/** All entries that `next` gives one behind the other, from behind a revision on. */
export async function* everyEntry<Found extends { readonly revision: number }>(
  next: (behind: number) => Promise<Found | undefined>,
  behind = 0,
): AsyncGenerator<Found, undefined> {
  for (let entry = await next(behind); entry; entry = await next(entry.revision)) yield entry;
}

/** Enough for twenty processes that write the same key at once. */
const MAX_TRIES = 50;

/**
 * Writes the `value` of what is decided on the present one, by compare-and-set: when another process was faster, it is decided again.
 * Nothing is written without a `value`. @throws {LogUnavailable} `busy`, when others are faster again and again
 */
export const changeEntry = async <Value, Decided extends { readonly value?: Value | undefined }>(
  bucket: Pick<Bucket<Value>, 'get' | 'create' | 'update'>,
  key: string,
  decide: (present: Value | undefined) => Decided | Promise<Decided>,
  busy: string,
): Promise<Decided & { readonly revision?: number }> => {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const entry = await bucket.get(key);
    const decided = await decide(entry?.value);
    const { value } = decided;
    if (value === undefined) return decided;
    const revision = entry
      ? await bucket.update(key, value, entry.revision)
      : await bucket.create(key, value);
    if (revision !== false) return { ...decided, revision };
  }
  throw new LogUnavailable(busy);
};

const KEY = /^[-/=\w]+(?:\.[-/=\w]+)*$/;
const MAX_LISTED = 10_000;
const utf8 = new TextEncoder();

export const openBucket = <Schema extends TSchema>(
  log: EventLog,
  bucket: BucketName,
  schema: Schema,
): Bucket<Static<Schema>> => recordsIn(log, bucket, schema).records;

/** A message of a bucket, as a consumer delivers it. */
export interface RecordMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly storedAt: Date;
  readonly data: Uint8Array;
  readonly headers?: { has(name: string): boolean } | undefined;
}

/** A bucket, and what a reader of its messages needs. */
export interface RecordsIn<Value> {
  readonly records: Bucket<Value>;
  /** @throws {InvalidRecord} */
  readonly entryOf: (message: RecordMessage) => Entry<Value>;
  /** Puts a marker in place of a key. False when the key has another revision than the given one. */
  readonly mark: (key: string, revision?: number) => Promise<boolean>;
  /** Removes what a key has up to a revision, a marker too. */
  readonly eraseUpTo: (key: string, revision: number) => Promise<void>;
}

export const recordsIn = <Schema extends TSchema>(
  log: EventLog,
  bucket: BucketName,
  schema: Schema,
): RecordsIn<Static<Schema>> => {
  type Value = Static<Schema>;
  const validate = recordValidator(bucket, schema);
  const kv = bucketOpener(log, bucket);
  const entryOf = ({ subject, data, sequence, storedAt }: RecordMessage): Entry<Value> => {
    const key = keyIn(bucket, subject);
    return { key, value: validate(key, parseJson(data)), revision: sequence, changedAt: storedAt };
  };

  const get = async (key: string): Promise<Entry<Value> | undefined> => {
    checkKey(bucket, key);
    const entry = await callBroker(`reading ${key} of ${bucket}`, async () => (await kv()).get(key));
    if (entry === null || entry.operation !== 'PUT') return undefined;
    const { revision, created: changedAt } = entry;
    return { key, value: validate(key, parseJson(entry.value)), revision, changedAt };
  };
  const write = async (
    key: string,
    value: Value,
    store: Store,
    withinMs = CALL_WITHIN_MS,
  ): Promise<number | false> => {
    checkKey(bucket, key);
    const data = utf8.encode(JSON.stringify(validate(key, value)));
    const written = await writeRecord({ bucket, key, data, withinMs }, kv, store);
    if (written !== 'unclear') return written;
    const now = await get(key);
    return now !== undefined && isDeepStrictEqual(now.value, parseJson(data)) ? now.revision : false;
  };

  const eraseUpTo = (key: string, revision: number): Promise<void> =>
    purge(log, bucket, key, { seq: revision + 1 });
  const records: Bucket<Value> = {
    get,
    create: (key, value) => write(key, value, async (open, data) => (await open()).create(key, data)),
    put: async (key, value) => {
      const revision = await write(key, value, (_open, data) => publishRecord(log, { bucket, key, data }));
      if (revision === false)
        throw new Error(`${bucket} refused ${key} with a conflict, although no revision was expected`);
      return revision;
    },
    putWhile: (key, value, other) => {
      checkKey(bucket, other.key);
      return write(key, value, (_open, data) => publishRecord(log, { bucket, key, data }, other));
    },
    update: (key, value, revision) => write(key, value, replacing(log, bucket, { key, revision })),
    updateOnce: (key, value, revision) => write(key, value, replacing(log, bucket, { key, revision }), 0),
    erase: (key) => purge(log, bucket, key),
    eraseAt: async (key, revision) => {
      await eraseUpTo(key, revision);
      return (await get(key)) === undefined;
    },
    ...readsInOrder(log, bucket, entryOf),
  };
  const mark = async (key: string, revision?: number): Promise<boolean> => {
    checkKey(bucket, key);
    const expected = revision === undefined ? undefined : { key, revision };
    const marker: Store = (_open, data) =>
      publishRecord(log, { bucket, key, data, isMarker: true }, expected);
    const write = { bucket, key, data: new Uint8Array(), withinMs: CALL_WITHIN_MS };
    const written = await writeRecord(write, kv, marker);
    return written === 'unclear' ? (await get(key)) === undefined : written !== false;
  };
  return { records, entryOf, mark, eraseUpTo };
};

const replacing =
  (log: EventLog, bucket: BucketName, present: Write): Store =>
  (_open, data) =>
    publishRecord(log, { bucket, key: present.key, data }, present);

const readsInOrder = <Value>(
  log: EventLog,
  bucket: BucketName,
  entryOf: RecordsIn<Value>['entryOf'],
): Pick<Bucket<Value>, 'list' | 'next' | 'nextWrite'> => {
  const next = (prefix: string, behind: number): Promise<StoredMsg | null> =>
    nextMessage(log, `KV_${bucket}`, behind + 1, filterOf(bucket, prefix));
  return {
    list: async (prefix = '') => (await listed(log, bucket, filterOf(bucket, prefix))).map(entryOf),
    next: async (prefix, behind) => {
      let message = await next(prefix, behind);
      while (message !== null && isDeletion(message.header)) message = await next(prefix, message.seq);
      return message === null ? undefined : entryOf(recordMessage(message));
    },
    nextWrite: async (prefix, behind) => {
      const message = await next(prefix, behind);
      return message === null ? undefined : { key: keyIn(bucket, message.subject), revision: message.seq };
    },
  };
};

/** A message that the leader was asked for. */
export const recordMessage = ({ subject, data, header, seq, time }: StoredMsg): RecordMessage => ({
  subject,
  data,
  headers: header,
  sequence: seq,
  storedAt: time,
});

export const keyIn = (bucket: BucketName, subject: string): string => subject.slice(`$KV.${bucket}.`.length);

/** The keys under a prefix. */
export const filterOf = (bucket: BucketName, prefix: string): string => {
  if (prefix === '') return `$KV.${bucket}.>`;
  checkKey(bucket, prefix);
  return `$KV.${bucket}.${prefix}.>`;
};

/** Removes all revisions of a key, or those before `seq`. */
const purge = async (
  log: EventLog,
  bucket: BucketName,
  key: string,
  before: { readonly seq?: number } = {},
): Promise<void> => {
  checkKey(bucket, key);
  await callBroker(`erasing ${key} of ${bucket}`, () =>
    log.jsm.streams.purge(`KV_${bucket}`, { filter: `$KV.${bucket}.${key}`, ...before }),
  );
};

/** The last message of each key, without deleted ones. */
const listed = async (log: EventLog, bucket: BucketName, filter: string): Promise<DeliveredMessage[]> => {
  const found = await lastPerSubject(log, `KV_${bucket}`, filter, MAX_LISTED);
  return found.filter(({ headers }) => !isDeletion(headers));
};

const checkKey = (bucket: string, key: string): void => {
  if (KEY.test(key)) return;
  throw new TypeError(
    `"${key}" is not a valid key for ${bucket}: it needs letters, digits, "_", "-", "/" and "=", in parts separated by dots.`,
  );
};

export const isDeletion = (headers: RecordMessage['headers']): boolean =>
  headers?.has('KV-Operation') === true;

/** A stored or new record of a bucket does not match its schema. */
export class InvalidRecord extends TypeError {
  override readonly name = 'InvalidRecord';
  readonly code = 'invalid_record';
}

/** Gives the value when it matches the schema. @throws {InvalidRecord} */
const recordValidator = <Schema extends TSchema>(
  bucket: string,
  schema: Schema,
): ((key: string, value: unknown) => Static<Schema>) => {
  const compiled = compiledSchema(schema);
  return (key, value) => {
    if (compiled.Check(value)) return value;
    const [first] = compiled.Errors(value);
    const where = first
      ? `${first.instancePath || 'the value'} ${first.message}`
      : 'the value has another shape';
    throw new InvalidRecord(`The record ${key} of ${bucket} does not match its schema: ${where}.`);
  };
};

/** The broker's time of the creation of a bucket. @throws {LogUnavailable} */
export const bucketCreated = async (log: EventLog, bucket: BucketName): Promise<string> => {
  const read = () => log.jsm.streams.info(`KV_${bucket}`);
  return createdOf(await callBroker(`reading the state of bucket ${bucket}`, read));
};

import { isDeepStrictEqual } from 'node:util';
import type { JsMsg } from '@nats-io/jetstream';
import { Kvm, type KV } from '@nats-io/kv';
import type { MsgHdrs } from '@nats-io/transport-node';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { CALL_WITHIN_MS, callBroker } from '../connect/broker-call.ts';
import { nextMessage } from '../messages/leader-read.ts';
import type { EventLog } from '../connect/event-log.ts';
import { lastPerSubject } from '../follow/last-per-subject.ts';
import { explainRefusal, isConflict } from '../messages/publish.ts';
import { parseJson } from '../messages/stored-message.ts';

export interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  /** Rises with every change of the bucket; `update` and `delete` take it. */
  readonly revision: number;
}

/** That a value was stored under a key, or taken away with a mark. */
export interface Write {
  readonly key: string;
  readonly revision: number;
}

/** Records by key. Every value is checked against the schema on its way in and out. All but `list` may throw LogUnavailable and, `updateOnce` apart, are safe to call again. */
export interface Bucket<Value> {
  /** Never older than an acknowledged write: buckets allow no direct reads, so the leader answers. */
  get(key: string): Promise<Entry<Value> | undefined>;
  /** The new revision, or false when the key is there already. */
  create(key: string, value: Value): Promise<number | false>;
  put(key: string, value: Value): Promise<number>;
  /** The new revision, or false when the key has another revision meanwhile. */
  update(key: string, value: Value, revision: number): Promise<number | false>;
  /** As `update`, but asks once: false says for certain that this was not written, and LogUnavailable leaves it open. */
  updateOnce(key: string, value: Value, revision: number): Promise<number | false>;
  delete(key: string): Promise<void>;
  /** Takes out what is stored under the key. `delete` leaves a mark of some 150 bytes for ever, and this leaves nothing. */
  erase(key: string): Promise<void>;
  /** The entries under `<prefix>.`, or all without a prefix; at most 10,000. */
  list(prefix?: string): Promise<Entry<Value>[]>;
  /**
   * The first write under `<prefix>.` behind a revision; undefined when all that was acknowledged is before it. What
   * `erase` takes out is not told of.
   */
  nextWrite(prefix: string, behind: number): Promise<Write | undefined>;
}

/** What stands in a bucket, or should, does not fit its schema. */
export class InvalidRecord extends TypeError {
  override readonly name = 'UnfitRecord';
  readonly code = 'unfit_record';
}

export type BucketName = 'CATALOGUE' | 'KEYS' | 'RATES' | 'UPLOADS' | 'WEBHOOK_SECRETS';

const KEY = /^[-/=\w]+(?:\.[-/=\w]+)*$/;
const MOST_LISTED = 10_000;
const utf8 = new TextEncoder();

export const openBucket = <Schema extends TSchema>(
  log: EventLog,
  bucket: BucketName,
  schema: Schema,
): Bucket<Static<Schema>> => {
  type Value = Static<Schema>;
  const fits = validator(bucket, schema);
  const kv = opened(log, bucket);
  const keyOf = (subject: string): string => subject.slice(`$KV.${bucket}.`.length);
  const filterOf = (prefix: string): string => {
    if (prefix === '') return `$KV.${bucket}.>`;
    checkKey(bucket, prefix);
    return `$KV.${bucket}.${prefix}.>`;
  };

  const entryOf = ({ subject, data, seq }: JsMsg): Entry<Value> => {
    const key = keyOf(subject);
    return { key, value: fits(key, parseJson(data)), revision: seq };
  };

  const get = async (key: string): Promise<Entry<Value> | undefined> => {
    checkKey(bucket, key);
    const entry = await callBroker(`reading ${key} of ${bucket}`, async () => (await kv()).get(key));
    if (entry === null || entry.operation !== 'PUT') return undefined;
    return { key, value: fits(key, parseJson(entry.value)), revision: entry.revision };
  };
  const write = async (
    key: string,
    value: Value,
    store: Store,
    withinMs = CALL_WITHIN_MS,
  ): Promise<number | false> => {
    checkKey(bucket, key);
    const data = utf8.encode(JSON.stringify(fits(key, value)));
    const written = await writeOnce({ bucket, key, data, withinMs }, kv, store);
    if (written !== 'unclear') return written;
    const now = await get(key);
    return now !== undefined && isDeepStrictEqual(now.value, parseJson(data)) ? now.revision : false;
  };

  return {
    get,
    create: (key, value) => write(key, value, (open, data) => open.create(key, data)),
    put: async (key, value) => {
      const revision = await write(key, value, (open, data) => open.put(key, data));
      if (revision === false)
        throw new Error(`${bucket} refused ${key} for a conflict, and nothing was expected`);
      return revision;
    },
    update: (key, value, revision) => write(key, value, (open, data) => open.update(key, data, revision)),
    updateOnce: (key, value, revision) =>
      write(key, value, (open, data) => open.update(key, data, revision), 0),
    ...removals(log, bucket, kv),
    list: async (prefix = '') => (await listed(log, bucket, filterOf(prefix))).map(entryOf),
    nextWrite: async (prefix, behind) => {
      const message = await nextMessage(log, `KV_${bucket}`, behind + 1, filterOf(prefix));
      return message === null ? undefined : { key: keyOf(message.subject), revision: message.seq };
    },
  };
};

const removals = (
  log: EventLog,
  bucket: BucketName,
  kv: () => Promise<KV>,
): Pick<Bucket<never>, 'delete' | 'erase'> => ({
  delete: async (key) => {
    checkKey(bucket, key);
    await callBroker(`deleting ${key} of ${bucket}`, async () => (await kv()).delete(key));
  },
  erase: async (key) => {
    checkKey(bucket, key);
    await callBroker(`erasing ${key} of ${bucket}`, () =>
      log.jsm.streams.purge(`KV_${bucket}`, { filter: `$KV.${bucket}.${key}` }),
    );
  },
});

/** The last message of each key that was not deleted. */
const listed = async (log: EventLog, bucket: BucketName, filter: string): Promise<JsMsg[]> => {
  const found = await lastPerSubject(log, `KV_${bucket}`, filter, MOST_LISTED);
  return found.filter(({ headers }) => !isDeletion(headers));
};

type Store = (kv: KV, data: Uint8Array) => Promise<number>;

interface RecordWrite {
  readonly bucket: BucketName;
  readonly key: string;
  readonly data: Uint8Array;
  readonly withinMs: number;
}

/** The revision, or false after a conflict. `unclear`: the conflict may be with an earlier try whose answer was lost. */
const writeOnce = async (
  { bucket, key, data, withinMs }: RecordWrite,
  kv: () => Promise<KV>,
  store: Store,
): Promise<number | false | 'unclear'> => {
  let tries = 0;
  const tryIt = async (): Promise<number> => {
    const open = await kv();
    tries += 1;
    return store(open, data);
  };
  try {
    return await callBroker(`writing ${key} of ${bucket}`, tryIt, withinMs);
  } catch (error) {
    if (!isConflict(error)) throw explainRefusal(error, `KV_${bucket}`, data);
    return tries === 1 ? false : 'unclear';
  }
};

/** Opened at the first use, and again after that failed. Provisioning makes the bucket, never a reader. */
const opened = (log: EventLog, bucket: BucketName): (() => Promise<KV>) => {
  let opening: Promise<KV> | undefined;
  return () => {
    opening ??= new Kvm(log.js).open(bucket, { bindOnly: true }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
};

const checkKey = (bucket: string, key: string): void => {
  if (KEY.test(key)) return;
  throw new TypeError(
    `"${key}" is no key for ${bucket}: letters, digits, "_", "-", "/" and "=", in parts between dots, are expected.`,
  );
};

const isDeletion = (headers: MsgHdrs | undefined): boolean =>
  headers !== undefined && (headers.has('KV-Operation') || headers.has('Nats-Marker-Reason'));

const validator = <Schema extends TSchema>(
  bucket: string,
  schema: Schema,
): ((key: string, value: unknown) => Static<Schema>) => {
  const compiled = Compile(schema);
  return (key, value) => {
    if (compiled.Check(value)) return value;
    const [first] = compiled.Errors(value);
    const where = first
      ? `${first.instancePath || 'the value'} ${first.message}`
      : 'the value is another shape';
    throw new InvalidRecord(`The record ${key} of ${bucket} does not fit its schema: ${where}.`);
  };
};

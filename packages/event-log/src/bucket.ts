import { newUuid } from '@runledger/contracts/ids';
import type { JsMsg, StoredMsg } from '@nats-io/jetstream';
import { headers as newHeaders, type MsgHdrs } from '@nats-io/transport-node';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { lastUnder } from './ask-leader.ts';
import type { EventLog } from './event-log.ts';
import { lastOfEach } from './last-of-each.ts';
import { publish } from './publish.ts';
import { parseJson } from './stored-message.ts';

export interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  /** Rises with every change of the bucket; `update` and `delete` take it. */
  readonly revision: number;
}

/** Records by key. Every value is checked against the schema on its way in and out. All but `list` may throw LogUnavailable and are safe to call again. */
export interface Bucket<Value> {
  /** Read at the leader: never older than an acknowledged write. */
  get(key: string): Promise<Entry<Value> | undefined>;
  /** The new revision, or false when the key is there already. */
  create(key: string, value: Value): Promise<number | false>;
  put(key: string, value: Value): Promise<number>;
  /** The new revision, or false when the key has another revision meanwhile. */
  update(key: string, value: Value, revision: number): Promise<number | false>;
  delete(key: string): Promise<void>;
  /** The entries under `<prefix>.`, or all without a prefix; at most 10,000. */
  list(prefix?: string): Promise<Entry<Value>[]>;
}

/** What stands in a bucket, or should, does not fit its schema. */
export class UnfitRecord extends TypeError {
  override readonly name = 'UnfitRecord';
  readonly code = 'unfit_record';
}

export type BucketName = 'CATALOGUE' | 'KEYS' | 'UPLOADS';

const KEY = /^[-/=\w]+(?:\.[-/=\w]+)*$/;
const MOST_LISTED = 10_000;
const utf8 = new TextEncoder();

export const openBucket = <Schema extends TSchema>(
  log: EventLog,
  bucket: BucketName,
  schema: Schema,
): Bucket<Static<Schema>> => {
  type Value = Static<Schema>;
  const stream = `KV_${bucket}`;
  const fits = validator(bucket, schema);

  const entry = (message: StoredMsg | JsMsg): Entry<Value> | undefined => {
    if (isDeletion('header' in message ? message.header : message.headers)) return undefined;
    const key = message.subject.slice(`$KV.${bucket}.`.length);
    return { key, value: fits(key, parseJson(message.data)), revision: message.seq };
  };
  const write = async (key: string, value: Value, sequence?: number): Promise<number | false> => {
    const subject = subjectOf(bucket, key);
    const written = await publish(log, {
      stream,
      subject,
      data: utf8.encode(JSON.stringify(fits(key, value))),
      id: newUuid(),
      ...(sequence === undefined ? {} : { fence: { filter: subject, sequence } }),
    });
    return written.kind === 'stored' ? written.sequence : false;
  };

  return {
    get: async (key) => {
      const message = await lastUnder(log, stream, subjectOf(bucket, key));
      return message ? entry(message) : undefined;
    },
    create: async (key, value) => {
      const created = await write(key, value, 0);
      if (created !== false) return created;
      const last = await lastUnder(log, stream, subjectOf(bucket, key));
      if (last && !isDeletion(last.header)) return false;
      return write(key, value, last?.seq ?? 0);
    },
    put: async (key, value) => {
      const revision = await write(key, value);
      if (revision === false)
        throw new Error(`${bucket} refused ${key} for a conflict, and nothing was expected`);
      return revision;
    },
    update: (key, value, revision) => write(key, value, revision),
    delete: async (key) => {
      const headers = newHeaders();
      headers.set('KV-Operation', 'DEL');
      await publish(log, {
        stream,
        subject: subjectOf(bucket, key),
        data: new Uint8Array(),
        id: newUuid(),
        headers,
      });
    },
    list: async (prefix = '') => {
      const filter = prefix === '' ? `$KV.${bucket}.>` : `${subjectOf(bucket, prefix)}.>`;
      const found: Entry<Value>[] = [];
      for (const message of await lastOfEach(log, stream, filter, MOST_LISTED)) {
        const listed = entry(message);
        if (listed) found.push(listed);
      }
      return found;
    },
  };
};

const subjectOf = (bucket: string, key: string): string => {
  if (KEY.test(key)) return `$KV.${bucket}.${key}`;
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
    throw new UnfitRecord(`The record ${key} of ${bucket} does not fit its schema: ${where}.`);
  };
};

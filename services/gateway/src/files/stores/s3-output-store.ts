import { parseJson } from '@runledger/contracts/json';
import { ConfigError } from '@runledger/service-kit/config';
import { within } from '@runledger/resilience/within';
import { messageOf } from '@runledger/resilience/errors';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  FileDescription,
  DAY_MS,
  hashed,
  keepDaysConfig,
  isOutputKey,
  OutputStoreUnavailable,
  storing,
  OutputStoreFull,
  type ByteSpan,
  type OutputStore,
  type OutputStoreAdapter,
  type OutputStoreParts,
  type OutputToStore,
  type StorePlace,
  type StoredOutput,
} from '../output-store.ts';
import {
  contentOf,
  descriptionOf,
  s3Requests,
  s3BucketOf,
  s3Config,
  S3_PREFIX,
  S3Failure,
  S3Unreachable,
  type S3Requests,
  type S3Bucket,
} from './s3-requests.ts';
import { openS3Expiry } from './s3-expiry.ts';
import { putContent, s3Objects } from './s3-objects.ts';

/** What a failed upload has left. */
const REMOVE_WITHIN_MS = 10_000;

const settings = {
  ...s3Config,
  RUNLEDGER_MODELS_S3_PREFIX: Type.String({
    pattern: S3_PREFIX,
    default: 'models/',
    description:
      'with RUNLEDGER_OUTPUTS=s3: what the names of the models of versions begin with, such as runledger/models/; not below that of the output files, nor above it, and no rule of the bucket may remove anything there',
  }),
  ...keepDaysConfig,
};

/** Files in a bucket of an S3-compatible store, which all gateways share. */
export const s3: OutputStoreAdapter<typeof settings> = {
  settings,
  needsLog: false,
  open: (config, parts, place) => {
    const { RUNLEDGER_OUTPUTS_S3_PREFIX: outputs, RUNLEDGER_MODELS_S3_PREFIX: models } = config;
    if (models.startsWith(outputs) || outputs.startsWith(models)) throw new ConfigError([SAME_PLACE]);
    const places: Record<StorePlace, S3Place> = {
      outputs: { prefix: outputs, keepMs: config.RUNLEDGER_OUTPUTS_KEEP_DAYS * DAY_MS },
      models: { prefix: models, keepMs: Number.POSITIVE_INFINITY },
    };
    return openS3Store(s3BucketOf(config, 'RUNLEDGER_OUTPUTS'), parts, places[place]);
  },
};

const SAME_PLACE = {
  variable: 'RUNLEDGER_MODELS_S3_PREFIX',
  wrong:
    'begins with RUNLEDGER_OUTPUTS_S3_PREFIX, or that begins with it: a rule of the bucket that removes old output files would remove models',
  right: 'a prefix of its own, such as "models/" beside "outputs/"',
};

export interface S3Place {
  /** Of the names of its objects. Everything below it belongs to this store. */
  readonly prefix: string;
  readonly keepMs: number;
  /** How often expired files are removed; every six hours when it is left out. */
  readonly everyMs?: number;
  /** Objects in one list of what is there; as many as the store gives when it is left out. */
  readonly listed?: number;
}

/** By its time a file expires for readers, whatever the clock of the store says. */
const Description = Type.Object({
  ...FileDescription.properties,
  stored_at: Type.String({ format: 'date-time' }),
});

/** Opens a part of a bucket as a store of files. */
export const openS3Store = (
  bucket: S3Bucket,
  { logger, now }: Pick<OutputStoreParts, 'logger' | 'now'>,
  place: S3Place,
): OutputStore & AsyncDisposable => {
  const { prefix, keepMs } = place;
  const requests = s3Requests(bucket);
  const objects = s3Objects(requests);
  const expiry = openS3Expiry({ ...place, requests, bucket: bucket.name, now, logger });
  const orFail = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw storeError(bucket, what, error);
    }
  };
  const find = async (key: string): Promise<StoredOutput | undefined> => {
    if (!isOutputKey(key)) return undefined;
    const name = descriptionOf(prefix, key);
    const found = await objects.get(name);
    if (!found) return undefined;
    const described = parseJson(found.toString());
    if (!Value.Check(Description, described) || described.key !== key)
      throw new OutputStoreUnavailable(`The description of an output file, ${name}, is damaged.`);
    return Date.parse(described.stored_at) >= now().getTime() - keepMs ? described : undefined;
  };
  /** First what makes it exist. To remove what is not there is no error. */
  const remove = async (key: string): Promise<void> => {
    await objects.remove(descriptionOf(prefix, key));
    await objects.remove(contentOf(prefix, key));
  };
  const put = async (
    { key, filename, content_type }: OutputToStore,
    body: AsyncIterable<Uint8Array>,
  ): Promise<StoredOutput> => {
    const hashing = hashed(body);
    // The type that a client chose is in the description. Here it would be executed by browsers that are shown a bucket.
    const content = { name: contentOf(prefix, key), content_type: 'application/octet-stream' };
    await putContent(requests, content, hashing.pieces);
    const described = { key, filename, content_type, ...hashing.done(), stored_at: now().toISOString() };
    const description = Buffer.from(JSON.stringify(described));
    await objects.put(descriptionOf(prefix, key), description, 'application/json');
    return described;
  };
  return {
    put: async (output, body) => {
      if (!isOutputKey(output.key)) throw new TypeError('An output file needs a key of 43 characters.');
      const store = (pieces: AsyncIterable<Uint8Array>) => put(output, pieces);
      return storing(body, store, async (cause) => {
        // It may have been stored although no answer says so. Without an answer to this either, it expires.
        const removed = remove(output.key).catch(() => undefined);
        await within(REMOVE_WITHIN_MS, removed, () => undefined);
        return storeError(bucket, 'storing an output file', cause);
      });
    },
    find: (key) => orFail('looking for an output file', () => find(key)),
    read: async function* ({ key }, span) {
      try {
        yield* readContent(requests, contentOf(prefix, key), span);
      } catch (error) {
        throw storeError(bucket, 'reading an output file', error);
      }
    },
    keepsForMs: async () => keepMs,
    remove: (key) =>
      orFail('removing an output file', async () => {
        const found = await find(key);
        // Also without a description: after a crash the content may be left.
        if (isOutputKey(key)) await remove(key);
        return found !== undefined;
      }),
    [Symbol.asyncDispose]: () => expiry[Symbol.asyncDispose](),
  };
};

/** What stores say when a bucket, a disk or a quota is full: Ceph and others, MinIO. */
const FULL = new Set([
  'QuotaExceeded',
  'XMinioStorageFull',
  'XMinioAdminBucketQuotaExceeded',
  'InsufficientStorage',
  'InsufficientCapacity',
]);
const HTTP_INSUFFICIENT_STORAGE = 507;

const ADVICE: Readonly<Record<string, string>> = {
  NoSuchBucket: 'Create the bucket, or correct RUNLEDGER_OUTPUTS_S3_BUCKET',
  AccessDenied: 'Let the access key read, write, list and delete below the prefix',
  InvalidAccessKeyId: 'Correct RUNLEDGER_OUTPUTS_S3_ACCESS_KEY',
  SignatureDoesNotMatch: 'Correct RUNLEDGER_OUTPUTS_S3_SECRET_KEY',
  AuthorizationHeaderMalformed: 'Correct RUNLEDGER_OUTPUTS_S3_REGION',
  PermanentRedirect: 'Correct RUNLEDGER_OUTPUTS_S3_REGION and RUNLEDGER_OUTPUTS_S3_ENDPOINT',
  RequestTimeTooSkewed: 'Set the clock of this machine',
};

/** The error of the port for an error of a request. `what`: what was done. */
const storeError = ({ name }: S3Bucket, what: string, error: unknown): Error => {
  if (error instanceof OutputStoreUnavailable) return error;
  if (error instanceof S3Failure && (FULL.has(error.code) || error.status === HTTP_INSUFFICIENT_STORAGE))
    return new OutputStoreFull(
      `The bucket ${name} of the output files is full. An operator has to raise its quota, or let files expire sooner (RUNLEDGER_OUTPUTS_KEEP_DAYS)`,
      { cause: error },
    );
  const why = messageOf(error);
  const advice = error instanceof S3Failure ? ADVICE[error.code] : undefined;
  return new OutputStoreUnavailable(
    `${what}: the bucket ${name} failed (${why})${advice === undefined ? '' : `. ${advice}`}`,
    { cause: error },
  );
};

/** For the next bytes of a body, when the caller wants them. */
const BYTES_WITHIN_MS = 30_000;

/** A part of an object, as fast as the caller reads. @throws {S3Unreachable} also when the object is shorter */
async function* readContent(
  { read }: S3Requests,
  name: string,
  { first, last }: ByteSpan,
): AsyncGenerator<Uint8Array> {
  let remaining = last + 1 - first;
  if (remaining <= 0) return;
  const { headers, body } = await read({ method: 'GET', name, headers: { range: `bytes=${first}-${last}` } });
  const reader = body.getReader();
  try {
    if (Number(headers.get('content-length')) !== remaining)
      throw new S3Unreachable('the file has another length than it had');
    while (remaining > 0) {
      const { value, done } = await within(BYTES_WITHIN_MS, reader.read(), () => {
        throw new S3Unreachable(`it sent nothing for ${BYTES_WITHIN_MS / 1_000} s`);
      });
      if (done) throw new S3Unreachable('it ended the file too early');
      remaining -= value.byteLength;
      yield value;
    }
  } finally {
    // Also when the caller stops in between: the connection is free again, or closed.
    await reader.cancel().catch(() => undefined);
  }
}

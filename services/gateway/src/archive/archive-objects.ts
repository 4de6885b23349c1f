import { hash } from 'node:crypto';
import { ConfigError } from '@runledger/service-kit/config';
import { oneOf } from '@runledger/service-kit/config-schemas';
import { Type, type Static, type TObject } from 'typebox';
import { openDirectoryObjects } from '../files/stores/directory-output-store.ts';
import { jetstreamObjects } from '../files/stores/jetstream-output-store.ts';
import { openS3Store } from '../files/stores/s3-output-store.ts';
import { s3BucketOf, S3_PREFIX, type S3Config } from '../files/stores/s3-requests.ts';
import type { OutputStore, OutputStoreParts } from '../files/output-store.ts';
import type { ReadSpan } from './read-segment.ts';

/** The archive, or a part of it, cannot be read or written now. */
export class ArchiveUnavailable extends Error {
  override readonly name = 'ArchiveUnavailable';
  readonly code = 'archive_unavailable';
}

/** The objects of segments, by keys of 43 characters. Every method may throw ArchiveUnavailable. */
export interface ArchiveObjects {
  /** Replaces an object that has this key. */
  put(key: string, bytes: Buffer): Promise<void>;
  /** How to read it; undefined when there is none. */
  find(key: string): Promise<ReadSpan | undefined>;
  remove(key: string): Promise<void>;
}

/** The key of an object, made of what it holds: who writes the same again replaces it, and leaves nothing else. */
export const objectKey = (...parts: readonly (string | number)[]): string =>
  hash('sha256', ['runledger archive', ...parts].join('\n'), 'base64url');

/** A store of its own, so that no address of an output file leads there, and no age of output files counts. @throws {ConfigError} */
export const openArchiveObjects = (
  config: ArchiveConfig,
  parts: OutputStoreParts,
): (ArchiveObjects & AsyncDisposable) | undefined => {
  switch (config.RUNLEDGER_ARCHIVE) {
    case 'none':
      return undefined;
    case 'jetstream': {
      const store = jetstreamObjects(parts.log, { bucket: 'ARCHIVE', limit: 'archiveMaxBytes' });
      return { ...objectsIn(store), [Symbol.asyncDispose]: async () => undefined };
    }
    case 's3': {
      const { RUNLEDGER_ARCHIVE_S3_PREFIX: prefix, RUNLEDGER_OUTPUTS_S3_PREFIX: outputs } = config;
      if (prefix.startsWith(outputs) || outputs.startsWith(prefix)) throw new ConfigError([SAME_PLACE]);
      const bucket = s3BucketOf(config, 'RUNLEDGER_ARCHIVE');
      const store = openS3Store(bucket, parts, { prefix, keepMs: Infinity });
      return { ...objectsIn(store), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
    }
    case 'directory': {
      const root = config.RUNLEDGER_ARCHIVE_DIRECTORY;
      if (root === undefined) throw new ConfigError([NO_DIRECTORY]);
      const store = openDirectoryObjects({ root, keepMs: Infinity, now: parts.now, logger: parts.logger });
      return { ...objectsIn(store), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
    }
  }
};

const NO_DIRECTORY = {
  variable: 'RUNLEDGER_ARCHIVE_DIRECTORY',
  wrong: 'is not set, and RUNLEDGER_ARCHIVE is "directory"',
  right: 'an existing directory',
};

const SAME_PLACE = {
  variable: 'RUNLEDGER_ARCHIVE_S3_PREFIX',
  wrong:
    'begins with RUNLEDGER_OUTPUTS_S3_PREFIX, or that begins with it: the age of output files would count for the archive',
  right: 'a prefix of its own, such as "archive/" beside "outputs/"',
};

const objectsIn = (store: OutputStore): ArchiveObjects => ({
  put: (key, bytes) =>
    orUnavailable('storing a segment of the archive', async () => {
      await store.remove(key);
      const described = { key, filename: 'segment', content_type: 'application/octet-stream' };
      await store.put(described, ReadableStream.from([bytes]));
    }),
  find: (key) =>
    orUnavailable('looking for a segment of the archive', async () => {
      const found = await store.find(key);
      if (!found) return undefined;
      return ({ offset, bytes }) =>
        orUnavailable('reading a segment of the archive', async () => {
          if (offset < 0 || bytes < 1 || offset + bytes > found.bytes)
            throw new RangeError(`it has ${found.bytes} bytes, fewer than its record says`);
          const pieces: Uint8Array[] = [];
          const span = { first: offset, last: offset + bytes - 1 };
          for await (const piece of store.read(found, span)) pieces.push(piece);
          return Buffer.concat(pieces);
        });
    }),
  remove: (key) =>
    orUnavailable('removing a segment of the archive', async () => {
      await store.remove(key);
    }),
});

const orUnavailable = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ArchiveUnavailable) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ArchiveUnavailable(`${what}: ${why}`, { cause: error });
  }
};

/** The environment variables of the archive: to spread into the configuration schema. */
export const archiveConfig = {
  RUNLEDGER_ARCHIVE: oneOf(['jetstream', 'directory', 's3', 'none'], {
    default: 'jetstream',
    description:
      'where facts are kept when they leave the log, for as long as their runs are: the object store ARCHIVE of the broker, a directory that all gateways share, the bucket RUNLEDGER_OUTPUTS_S3_BUCKET of an S3-compatible store, or nowhere',
  }),
  RUNLEDGER_ARCHIVE_DIRECTORY: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'with RUNLEDGER_ARCHIVE=directory: the directory of the archive, which has to exist; not that of the output files',
    }),
  ),
  RUNLEDGER_ARCHIVE_S3_PREFIX: Type.String({
    pattern: S3_PREFIX,
    default: 'archive/',
    description:
      'with RUNLEDGER_ARCHIVE=s3: what the names of its objects begin with, such as runledger/archive/; not below that of the output files, nor above it',
  }),
  RUNLEDGER_ARCHIVE_AFTER_HOURS: Type.Number({
    exclusiveMinimum: 0,
    maximum: 10_000,
    default: 12,
    description:
      'hours after which facts are archived, at the latest after twice as many; never more than an eighth of the age of the log (runsMaxAgeMs)',
  }),
  RUNLEDGER_ARCHIVE_PAGES_PER_S: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 20,
    description: 'the most pages of 512 messages that archiving reads from the log in a second',
  }),
};

/** The bucket is that of output files, also where those are kept elsewhere. */
export type ArchiveConfig = Static<TObject<typeof archiveConfig>> & S3Config;

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isOrgId, isRunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { listObjects } from '@runledger/event-log/read/read-pages';
import { within } from '@runledger/resilience/within';
import { ConfigError } from '@runledger/service-kit/config';
import { oneOf } from '@runledger/service-kit/config-schemas';
import { messageOf } from '@runledger/resilience/errors';
import { Type, type Static, type TObject } from 'typebox';
import { jetstreamObjects } from '../files/stores/jetstream-output-store.ts';
import { s3Objects, type NamedObjects } from '../files/stores/s3-objects.ts';
import { s3BucketOf, s3Requests, S3_PREFIX, type S3Config } from '../files/stores/s3-requests.ts';
import {
  directoryOf,
  namesIn,
  orAbsent,
  placeWhole,
  removeIncomplete,
  writtenAt,
} from '../files/stores/whole-files.ts';
import { OutputStoreUnavailable, type OutputStoreParts } from '../files/output-store.ts';

/** The archive, or a part of it, cannot be read or written now. */
export class ArchiveUnavailable extends Error {
  override readonly name = 'ArchiveUnavailable';
  readonly code = 'archive_unavailable';
}

interface ListedRun extends RunKey {
  /** By the clock of the store: milliseconds since 1970. */
  readonly storedMs: number;
}

/** One object for each run. Every method may throw ArchiveUnavailable, and does when the store does not answer in time. */
export interface ArchiveObjects {
  /** In one step: a reader finds the former one or this one, whatever is killed. */
  readonly put: (key: RunKey, bytes: Buffer) => Promise<void>;
  readonly get: (key: RunKey) => Promise<Buffer | undefined>;
  readonly remove: (key: RunKey) => Promise<void>;
  /** Those of an organisation, or all, some at a time. May have what is stored meanwhile or not. */
  readonly list: (org_id?: string) => AsyncGenerator<readonly ListedRun[]>;
  /** Where an operator finds it. */
  readonly placeOf: (key: RunKey) => string;
}

/** A store of its own, so that no address of an output file leads there, and no age of output files counts. @throws {ConfigError} */
export const openArchiveObjects = (
  config: ArchiveConfig,
  parts: OutputStoreParts,
): ArchiveObjects | undefined => {
  switch (config.RUNLEDGER_ARCHIVE) {
    case 'none':
      return undefined;
    case 'jetstream':
      return inTime(brokerStore(parts.log));
    case 's3': {
      const { RUNLEDGER_ARCHIVE_S3_PREFIX: prefix, RUNLEDGER_OUTPUTS_S3_PREFIX: outputs } = config;
      if (prefix.startsWith(outputs) || outputs.startsWith(prefix)) throw new ConfigError([SAME_PLACE]);
      return inTime(bucketStore(config, prefix));
    }
    case 'directory': {
      const root = directoryOf(config.RUNLEDGER_ARCHIVE_DIRECTORY, 'RUNLEDGER_ARCHIVE');
      return inTime(directoryStore(root, parts.now));
    }
  }
};

const SAME_PLACE = {
  variable: 'RUNLEDGER_ARCHIVE_S3_PREFIX',
  wrong:
    'begins with RUNLEDGER_OUTPUTS_S3_PREFIX, or that begins with it: the age of output files would count for the archive',
  right: 'a prefix of its own, such as "archive/" beside "outputs/"',
};

/** Objects by the name `<organisation>/<run>`, which throws what the store throws. `list` may have names that begin otherwise. */
interface ObjectStore extends NamedObjects {
  /** Where an operator finds it. */
  readonly placeOf: (name: string) => string;
}

/** An object of the broker has a key of 43 characters: those of both ids. */
const keyOf = (name: string): string =>
  Buffer.from(name.replaceAll(/[-/]/g, ''), 'hex').toString('base64url');

const IDS = /^(.{8})(.{4})(.{4})(.{4})(.{12})(.{8})(.{4})(.{4})(.{4})/;
const nameOfKey = (key: string): string =>
  Buffer.from(key, 'base64url').toString('hex').replace(IDS, '$1-$2-$3-$4-$5/$6-$7-$8-$9-');

/** The driver stores an object in one step, and cuts it where it is larger than a message. */
const brokerStore = (log: OutputStoreParts['log']): ObjectStore => {
  const store = jetstreamObjects(log, { bucket: 'ARCHIVE', limit: 'archiveMaxBytes' });
  const described = { filename: 'run', content_type: 'application/octet-stream' };
  const get = async (name: string, tries = 3): Promise<Buffer | undefined> => {
    const found = await store.find(keyOf(name));
    if (!found) return undefined;
    try {
      return Buffer.concat(await Array.fromAsync(store.read(found, { first: 0, last: found.bytes - 1 })));
    } catch (error) {
      // Its chunks go when it is replaced, also while it is read.
      if (!(error instanceof OutputStoreUnavailable) || tries === 1) throw error;
      return get(name, tries - 1);
    }
  };
  return {
    put: async (name, bytes) => {
      await store.put({ ...described, key: keyOf(name) }, ReadableStream.from([bytes]));
    },
    get: (name) => get(name),
    remove: async (name) => void (await store.remove(keyOf(name))),
    list: async function* () {
      for await (const page of listObjects(log, 'ARCHIVE'))
        yield page.map(({ name, storedMs }) => ({ name: nameOfKey(name), storedMs }));
    },
    placeOf: (name) => `${keyOf(name)} in the object store ARCHIVE of the broker`,
  };
};

const bucketStore = (config: ArchiveConfig, prefix: string): ObjectStore => {
  const bucket = s3BucketOf(config, 'RUNLEDGER_ARCHIVE');
  const placeOf = (name: string): string => `${prefix}${name} in the bucket ${bucket.name}`;
  return { ...s3Objects(s3Requests(bucket), prefix), placeOf };
};

/** `<root>/<organisation>/<the last two characters of the run>/<run>`: thousands of files in one folder are slow on some file systems. */
const directoryStore = (root: string, now: () => Date): ObjectStore => {
  const pathOf = (name: string): [org_id: string, part: string, run_id: string] => {
    const [org_id = '', run_id = ''] = name.split('/');
    return [org_id, run_id.slice(-2), run_id];
  };
  const placeOf = (name: string): string => join(root, ...pathOf(name));
  return {
    put: (name, bytes) =>
      placeWhole(root, pathOf(name), (file) => writeFile(file, bytes, { flag: 'wx', flush: true })),
    get: (name) => orAbsent(root, undefined, () => readFile(placeOf(name))),
    remove: (name) => orAbsent(root, undefined, () => rm(placeOf(name))),
    list: async function* (begin) {
      for (const org_id of begin === '' ? (await namesIn(root)).filter(isOrgId) : [begin.slice(0, -1)])
        for (const part of await namesIn(root, org_id))
          yield await Promise.all(
            (await namesIn(root, org_id, part)).map(async (run_id) => {
              // Removed meanwhile, it is as old as can be.
              const storedMs = (await writtenAt(root, org_id, part, run_id)) ?? 0;
              return { name: `${org_id}/${run_id}`, storedMs };
            }),
          );
      await removeIncomplete(root, now().getTime());
    },
    placeOf,
  };
};

/** For each access to an object, and each page of a list. */
const ANSWER_WITHIN_MS = 10_000;

/** Every failure is one of the archive, which names the object. */
const inTime = (store: ObjectStore): ArchiveObjects => {
  const orUnavailable = async <Result>(what: string, work: Promise<Result>): Promise<Result> => {
    try {
      return await within(ANSWER_WITHIN_MS, work, () => {
        throw new Error(`the store did not answer within ${ANSWER_WITHIN_MS / 1_000} s`);
      });
    } catch (error) {
      const why = messageOf(error);
      throw new ArchiveUnavailable(`${what}: ${why}`, { cause: error });
    }
  };
  const placeOf = (key: RunKey): string => store.placeOf(nameOf(key));
  const about = (what: string, key: RunKey): string => `${what} the archived run ${placeOf(key)}`;
  return {
    put: (key, bytes) => orUnavailable(about('storing', key), store.put(nameOf(key), bytes)),
    get: (key) => orUnavailable(about('reading', key), store.get(nameOf(key))),
    remove: (key) => orUnavailable(about('removing', key), store.remove(nameOf(key))),
    list: async function* (org_id) {
      const begin = org_id === undefined ? '' : `${org_id}/`;
      const pages = store.list(begin);
      for (;;) {
        const page = await orUnavailable('listing the archived runs', pages.next());
        if (page.done) return;
        const found = page.value.filter(({ name }) => name.startsWith(begin));
        yield found.flatMap(({ name, storedMs }) => runOf(name).map((key) => ({ ...key, storedMs })));
      }
    },
    placeOf,
  };
};

const nameOf = ({ org_id, run_id }: RunKey): string => `${org_id}/${run_id}`;

/** None for what is not ours. */
const runOf = (name: string): RunKey[] => {
  const [org_id = '', run_id = ''] = name.split('/');
  return isOrgId(org_id) && isRunId(run_id) ? [{ org_id, run_id }] : [];
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
      'hours after which facts are archived; never more than an eighth of the age of the log (runsMaxAgeMs)',
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

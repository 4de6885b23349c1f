import { isOrgId, isRunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { within } from '@runledger/resilience/within';
import { ConfigError } from '@runledger/service-kit/config';
import { oneOf } from '@runledger/service-kit/config-schemas';
import { messageOf } from '@runledger/resilience/errors';
import { Type, type Static, type TObject } from 'typebox';
import type { OutputStoreParts } from '../files/output-store.ts';
import { brokerObjects, directoryObjects, type NamedObjects } from '../files/stores/named-objects.ts';
import { s3Objects } from '../files/stores/s3-objects.ts';
import { s3BucketOf, s3Requests, S3_PREFIX, type S3Config } from '../files/stores/s3-requests.ts';
import { directoryOf } from '../files/stores/whole-files.ts';

/** The archive, or a part of it, cannot be read or written now. */
export class ArchiveUnavailable extends Error {
  override readonly name = 'ArchiveUnavailable';
  readonly code = 'archive_unavailable';
}

/** One object for each run. Every method may throw ArchiveUnavailable, and does when the store does not answer in time. */
export interface ArchiveObjects {
  /** In one step: a reader finds the former one or this one, whatever is killed. */
  readonly put: (key: RunKey, bytes: Buffer) => Promise<void>;
  readonly get: (key: RunKey) => Promise<Buffer | undefined>;
  readonly remove: (key: RunKey) => Promise<void>;
  /** Those of an organisation, or all, some at a time. May have what is stored meanwhile or not. */
  readonly list: (org_id?: string) => AsyncGenerator<readonly (RunKey & { readonly storedMs: number })[]>;
  /** Where an operator finds it. */
  readonly placeOf: (key: RunKey) => string;
}

/** A store of its own, so that no address of an output file leads there, and no age of output files counts. @throws {ConfigError} */
export const openArchiveObjects = (config: ArchiveConfig, parts: OutputStoreParts): ArchiveObjects => {
  switch (config.RUNLEDGER_ARCHIVE) {
    case 'jetstream':
      return inTime(brokerObjects(parts.log, { bucket: 'ARCHIVE', limit: 'archiveMaxBytes' }));
    case 's3': {
      const { RUNLEDGER_ARCHIVE_S3_PREFIX: prefix, RUNLEDGER_OUTPUTS_S3_PREFIX: outputs } = config;
      if (prefix.startsWith(outputs) || outputs.startsWith(prefix)) throw new ConfigError([SAME_PLACE]);
      return inTime(s3Objects(s3Requests(s3BucketOf(config, 'RUNLEDGER_ARCHIVE')), prefix));
    }
    case 'directory': {
      const root = directoryOf(config.RUNLEDGER_ARCHIVE_DIRECTORY, 'RUNLEDGER_ARCHIVE');
      return inTime(directoryObjects(root, parts.now));
    }
  }
};

const SAME_PLACE = {
  variable: 'RUNLEDGER_ARCHIVE_S3_PREFIX',
  wrong:
    'begins with RUNLEDGER_OUTPUTS_S3_PREFIX, or that begins with it: the age of output files would count for the archive',
  right: 'a prefix of its own, such as "archive/" beside "outputs/"',
};

/** For each access to an object, and each page of a list. */
const ANSWER_WITHIN_MS = 10_000;

/** Every failure is one of the archive, which names the object. */
const inTime = (store: NamedObjects): ArchiveObjects => {
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
  RUNLEDGER_ARCHIVE: oneOf(['jetstream', 'directory', 's3'], {
    default: 'jetstream',
    description:
      'where facts are kept when they leave the log, for as long as their runs are: the object store ARCHIVE of the broker, a directory that all gateways share, or the bucket RUNLEDGER_OUTPUTS_S3_BUCKET of an S3-compatible store',
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

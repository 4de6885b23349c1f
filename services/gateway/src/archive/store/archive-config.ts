import { oneOf } from '@runledger/service-kit/config/config-schemas';
import { Type, type Static, type TObject } from 'typebox';
import { S3_PREFIX, type S3Config } from '../../outputs/s3/s3-settings.ts';

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

import { Type, type Static } from 'typebox';
import { enumInWords } from '../words/in-words.ts';
import { nullable } from './fields/optional.ts';

const Unit = enumInWords(
  {
    runs: 'Runs.',
    records: 'Records of the catalogue.',
    schedules: 'Schedules.',
    bytes: 'Bytes.',
    files: 'Files and unfinished uploads.',
    uploads: 'Uploads at the same time.',
    streams: 'Event streams and waiting reads at the same time.',
  },
  { description: 'What `used` and `limit` count.' },
);

/** What an organisation uses of one resource that all organisations share. */
export const ResourceUsage = Type.Object(
  {
    used: nullable(
      Type.Integer({ minimum: 0, description: 'What the organisation uses, in `unit`.', examples: [120] }),
      'Null while it cannot be counted.',
    ),
    limit: Type.Integer({
      minimum: 1,
      description: 'What the organisation may use, in `unit`.',
      examples: [100_000],
    }),
    unit: Unit,
  },
  {
    title: 'ResourceUsage',
    description: 'What an organisation uses of one resource that all organisations share.',
  },
);
export type ResourceUsage = Static<typeof ResourceUsage>;

export const Usage = Type.Object(
  {
    queued_runs: ResourceUsage,
    catalogue_records: ResourceUsage,
    schedules: ResourceUsage,
    workflow_bytes: ResourceUsage,
    blob_bytes: ResourceUsage,
    output_bytes: ResourceUsage,
    files: ResourceUsage,
    file_bytes: ResourceUsage,
    uploads: ResourceUsage,
    streams: ResourceUsage,
  },
  {
    title: 'Usage',
    description: 'What the organisation uses of each resource, as the operation says.',
  },
);
export type Usage = Static<typeof Usage>;

/** Each resource has a quota of the organisation. */
export type Resource = keyof Usage;

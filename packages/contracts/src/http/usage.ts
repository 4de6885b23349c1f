import { Type, type Static } from 'typebox';
import { enumInWords, listInWords, type InWords } from '../words/in-words.ts';
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

const resources = {
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
};

const RESOURCES: InWords<keyof typeof resources> = {
  queued_runs: 'Runs that wait for a slot.',
  catalogue_records: 'Machines, workflows, versions of workflows and deployments, archived ones included.',
  schedules: 'Schedules, paused ones included.',
  workflow_bytes: 'The workflows of its versions, equal ones once, with the definitions of their inputs.',
  blob_bytes: 'Inputs and lists of outputs over 4 KiB of its runs, equal ones once.',
  output_bytes: 'The output files of its runs, until they expire.',
  files: 'Files that clients uploaded, and unfinished uploads.',
  file_bytes: 'Their bytes, equal files once.',
  uploads: 'Files that clients and executors upload now, at the gateway that responds.',
  streams: 'Event streams and waiting reads that are open at the gateway that responds.',
};

export const Usage = Type.Object(resources, {
  title: 'Usage',
  description: listInWords('What the organisation uses of each resource.', RESOURCES),
});
export type Usage = Static<typeof Usage>;

/** Each resource has a quota of the organisation. */
export type Resource = keyof Usage;

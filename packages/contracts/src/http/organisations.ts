import { Type, type Static } from 'typebox';
import type { Erasure } from '../catalogue/records.ts';
import { enumInWords, listInWords, nullable, optional, type InWords } from '../schemas.ts';
import { KeyUuid, OrganisationUuid, time, UserUuid } from './fields.ts';

const Organisation = { ...OrganisationUuid, description: 'The id of the organisation.' };

const count = (what: string, example: number) =>
  Type.Integer({
    minimum: 0,
    description: `The number of ${what} that were erased.`,
    examples: [example],
  });

export const OrganisationPath = Type.Object({ org_id: Organisation });

export const EraseQuery = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: 128,
    examples: ['example'],
    description: 'The name of the organisation, so that no other one is erased by mistake.',
  }),
});

const ERASED = {
  keys: count('API keys', 12),
  runs: count('runs', 4711),
  files: count('files that clients had uploaded', 3),
} satisfies Record<keyof Erasure['erases'], Type.TInteger>;

export const OrganisationTombstone = Type.Object(
  {
    org_id: Organisation,
    requested_at: time('When the erasure was requested.'),
    requested_by: Type.Object(
      {
        org_id: { ...OrganisationUuid, description: 'The organisation of the key.' },
        user_id: { ...UserUuid, description: 'The user of the key.' },
        key_id: KeyUuid,
      },
      { description: 'The API key of the operator who requested it.' },
    ),
    state: enumInWords(
      {
        erasing: 'Something of it is still to be erased.',
        erased:
          'Twice, with ten minutes between, nothing was left but the facts of runs, which leave the log with its age.',
      },
      { description: 'Whether everything is erased.' },
    ),
    erased_at: nullable(
      time('When nothing was left for the second time.'),
      'Null while the state is `erasing`.',
    ),
    erases: Type.Object(ERASED, {
      description: 'What was erased so far. What a gateway erased before it was killed may be missing.',
    }),
  },
  { title: 'OrganisationTombstone', description: 'What is left of an erased organisation.' },
);
export type OrganisationTombstone = Static<typeof OrganisationTombstone>;

const MAX_DAYS = 10_000;
const Days = Type.Integer({ minimum: 1, examples: [30] });

/** For how long one kind of thing is kept. */
export const KeptDays = Type.Object(
  {
    days: nullable({ ...Days, description: 'Days for which it is kept now. Null: without end.' }),
    chosen: nullable({
      ...Days,
      description: 'What the organisation chose. Null: as long as the installation keeps it.',
    }),
    least: nullable({
      ...Days,
      description: 'The fewest days that can be chosen. Null: none can be chosen.',
    }),
    most: nullable({ ...Days, description: 'The most days that can be chosen. Null: any number.' }),
  },
  { title: 'KeptDays', description: 'For how many days one kind of thing is kept.' },
);
export type KeptDays = Static<typeof KeptDays>;

export const Retention = Type.Object(
  { runs_days: KeptDays, outputs_days: KeptDays },
  {
    title: 'Retention',
    description:
      'For how long runs are kept (`runs_days`, from their creation) and their output files (`outputs_days`, from their end).',
  },
);
export type Retention = Static<typeof Retention>;

const AS_INSTALLED = 'Null: as long as the installation keeps it.';
const ChosenDays = (description: string): Type.TInteger =>
  Type.Integer({
    minimum: 1,
    maximum: MAX_DAYS,
    description,
    examples: [30],
  });

export const RetentionChange = Type.Object(
  {
    runs_days: optional(
      ChosenDays('Days from the creation of a run for which it is kept, with all that belongs to it.'),
      AS_INSTALLED,
    ),
    outputs_days: optional(
      ChosenDays('Days from the end of a run for which its output files are kept.'),
      AS_INSTALLED,
    ),
  },
  {
    title: 'RetentionChange',
    description: 'Omitted members stay unchanged.',
    examples: [{ runs_days: 30 }],
  },
);
export type RetentionChange = Static<typeof RetentionChange>;

const Unit = enumInWords(
  {
    runs: 'Runs.',
    records: 'Records of the catalogue.',
    schedules: 'Schedules.',
    secrets: 'Secrets.',
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
  secrets: ResourceUsage,
  workflow_bytes: ResourceUsage,
  blob_bytes: ResourceUsage,
  output_bytes: ResourceUsage,
  files: ResourceUsage,
  file_bytes: ResourceUsage,
  model_bytes: ResourceUsage,
  uploads: ResourceUsage,
  streams: ResourceUsage,
};

const RESOURCES: InWords<keyof typeof resources> = {
  queued_runs: 'Runs that wait for a slot.',
  catalogue_records: 'Machines, workflows, versions of workflows and deployments, archived ones included.',
  schedules: 'Schedules, paused ones included.',
  secrets: 'Secrets that its programs get.',
  workflow_bytes: 'The workflows of its versions, equal ones once, with the definitions of their inputs.',
  blob_bytes: 'Inputs and lists of outputs over 4 KiB of its runs, equal ones once.',
  output_bytes: 'The output files of its runs, until they expire.',
  files: 'Files that clients uploaded, and unfinished uploads.',
  file_bytes: 'Their bytes, equal files once.',
  model_bytes: 'The weights that it keeps for its versions, equal ones once.',
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

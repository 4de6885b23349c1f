import { Type, type Static } from 'typebox';
import { nullable } from './fields/optional.ts';

const Unit = Type.Enum(['runs', 'records', 'schedules', 'bytes', 'files', 'uploads', 'streams']);

/** What an organisation uses of one resource that all organisations share. */
export const ResourceUsage = Type.Object(
  {
    used: nullable(Type.Integer({ minimum: 0, description: 'Null while it cannot be counted.' })),
    limit: Type.Integer({ minimum: 1, description: 'What the organisation may use.' }),
    unit: Unit,
  },
  { title: 'ResourceUsage' },
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
  { title: 'Usage' },
);
export type Usage = Static<typeof Usage>;

/** Each resource has a quota of the organisation. */
export type Resource = keyof Usage;

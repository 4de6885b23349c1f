import { Type, type Static } from 'typebox';
import { RunOrigin } from '../../events/run-event-data.ts';
import { GpuModel } from '../../gpu.ts';
import { Cursor, NextCursor, PageLimit, Time, TimeOrDay, Uuid, wordsOf } from '../fields/values.ts';
import { optional } from '../fields/optional.ts';
import { Inputs } from './queue-run.ts';
import { IncludedMembers, RunStatus, WorkflowRun } from './run.ts';

const After = { ...TimeOrDay, description: 'Runs that were created then or later.' };
const Before = { ...TimeOrDay, description: 'Runs that were created before.' };

/** In a query, where a list is also written with commas. */
export const RunListQuery = Type.Object({
  status: Type.Optional(Type.Array(RunStatus, { description: 'Runs with one of these.' })),
  deployment_id: Type.Optional(Uuid),
  workflow_id: Type.Optional(Uuid),
  gpu: Type.Optional(GpuModel),
  origin: Type.Optional(RunOrigin),
  created_after: Type.Optional(After),
  created_before: Type.Optional(Before),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
  include: Type.Optional(IncludedMembers),
});

export const RunPage = Type.Object(
  {
    runs: Type.Array(WorkflowRun, { description: 'The newest first.' }),
    next_cursor: NextCursor,
  },
  { title: 'RunPage' },
);

export const RunFilter = Type.Object(
  {
    status: optional({
      ...wordsOf(RunStatus),
      description: 'Of those that a run can have before it has ended; all of them when left out.',
    }),
    deployment_id: optional(Uuid),
    workflow_id: optional(Uuid),
    gpu: optional(GpuModel),
    origin: optional(RunOrigin),
    created_after: optional(After),
    created_before: optional(Before),
  },
  {
    title: 'RunFilter',
    // A misspelt name would leave the filter wider than it was meant to be.
    additionalProperties: false,
    description:
      'Of the runs that have not ended, those that fit all of it; `{}` is every one. It has to be there, and no other names in it, so that nothing is cancelled by mistake.',
  },
);
export type RunFilter = Static<typeof RunFilter>;

export const CancelRunsRequest = Type.Object(
  {
    filter: RunFilter,
    dry_run: optional(Type.Boolean({ default: false, description: 'Only counts.' })),
    cursor: optional(Cursor),
  },
  // A misspelt `dry_run` would cancel for real.
  { title: 'CancelRunsRequest', additionalProperties: false },
);

export const CancelRunsResponse = Type.Object(
  {
    matched: Type.Integer({
      minimum: 0,
      description:
        'Runs of this page that still fitted the filter when they were looked at, those that were asked to stop before among them.',
    }),
    cancelled: Type.Integer({ minimum: 0, description: 'Those of them that ended at once, for good.' }),
    requested: Type.Integer({
      minimum: 0,
      description:
        'Those of them that execute and were asked to stop now; they end within the grace period. One that was asked before is not counted again.',
    }),
    failed: Type.Integer({
      minimum: 0,
      description:
        'Further runs of this page, which could not be cancelled now: they changed again and again meanwhile, or what they are now could not be read. Asked again, they may be; one whose events have expired before its end stays so until the list forgets it.',
    }),
    created_before: Type.Union([Time, Type.Null()], {
      description:
        'A time just behind the creation of the newest run of this page; null where it has none. In the filter, it leaves out what is queued after this answer.',
    }),
    next_cursor: NextCursor,
  },
  { title: 'CancelRunsResponse' },
);

export const RerunRequest = Type.Object(
  { inputs: optional({ ...Inputs, description: "Instead of the run's own, all of them together." }) },
  { title: 'RerunRequest' },
);

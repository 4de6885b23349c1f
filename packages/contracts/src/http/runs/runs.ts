import { Type, type Static } from 'typebox';
import { RunOrigin } from '../../events/run-event-data.ts';
import { GpuName } from '../fields/gpu-name.ts';
import { Cursor, NextCursor, PageLimit, Time, TimeOrDay, Uuid, wordsOf } from '../fields/values.ts';
import { MAX_TAGS, Tag, TAG_RULE, TAGS_PATTERN } from '../../tags.ts';
import { optional } from '../fields/optional.ts';
import { Inputs } from './queue-run.ts';
import { IncludedMembers, RunStatus, WorkflowRun } from './run.ts';

const After = { ...TimeOrDay, description: 'Runs created at this time or later.' };
const Before = { ...TimeOrDay, description: 'Runs created before this time.' };

const OfSchedule = { ...Uuid, description: 'Runs that this schedule queued, also a deleted one.' };

const OneTag = { ...Tag, 'x-refusal': { type: 'string_pattern_mismatch', msg: TAG_RULE } };
const TAGGED = 'Runs with all of these tags.';

/** In a query, where a list may also be written with commas. */
export const RunListQuery = Type.Object({
  status: Type.Optional(Type.Array(RunStatus, { description: 'Runs with one of these statuses.' })),
  deployment_id: Type.Optional(Uuid),
  workflow_id: Type.Optional(Uuid),
  schedule_id: Type.Optional(OfSchedule),
  gpu: Type.Optional(GpuName),
  origin: Type.Optional(RunOrigin),
  tag: Type.Optional(Type.Array(OneTag, { minItems: 1, maxItems: MAX_TAGS, description: TAGGED })),
  created_after: Type.Optional(After),
  created_before: Type.Optional(Before),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
  include: Type.Optional(IncludedMembers),
  at: Type.Optional({
    ...TimeOrDay,
    description:
      'The runs as they were at this time of the broker: those that were queued by then, and `status` is that of then. A page may have fewer runs than the limit.',
  }),
});

export const RunPage = Type.Object(
  {
    runs: Type.Array(WorkflowRun, { description: 'The newest first.' }),
    unknown_runs: Type.Optional(
      Type.Array(Uuid, {
        description:
          'Only with `at`: runs that had been queued by then, and of which neither the log nor the archive has the facts any more. Usually empty.',
      }),
    ),
    next_cursor: NextCursor,
  },
  { title: 'RunPage' },
);

export const RunFilter = Type.Object(
  {
    status: optional({
      ...wordsOf(RunStatus),
      description:
        'Runs with one of these statuses. Of those that the operation concerns; all of these without it.',
    }),
    deployment_id: optional(Uuid),
    workflow_id: optional(Uuid),
    schedule_id: optional(OfSchedule),
    gpu: optional(GpuName),
    origin: optional(RunOrigin),
    tag: optional(
      Type.Union(
        [Type.String({ pattern: TAGS_PATTERN }), Type.Array(Tag, { minItems: 1, maxItems: MAX_TAGS })],
        {
          description: TAGGED,
          'x-refusal': {
            type: 'string_pattern_mismatch',
            msg: `Input should be 1 to ${MAX_TAGS} tags: a list, or a text with commas. ${TAG_RULE}`,
          },
        },
      ),
    ),
    created_after: optional(After),
    created_before: optional(Before),
  },
  {
    title: 'RunFilter',
    // A misspelt name would leave the filter wider than it was meant to be.
    additionalProperties: false,
    description:
      'Selects, of the runs that the operation concerns, those that match every member; `{}` selects all of them. It is required, and unknown members are refused, so that nothing is done by mistake.',
  },
);
export type RunFilter = Static<typeof RunFilter>;

const ManyRuns = {
  filter: RunFilter,
  dry_run: optional(Type.Boolean({ default: false, description: 'Only counts the runs.' })),
  cursor: optional(Cursor),
};
// A misspelt `dry_run` would do it for real.
const strict = { additionalProperties: false };

export const CancelRunsRequest = Type.Object(ManyRuns, { title: 'CancelRunsRequest', ...strict });
export const RerunRunsRequest = Type.Object(ManyRuns, { title: 'RerunRunsRequest', ...strict });
/** A request about the runs that match a filter. */
export type ManyRunsRequest = Static<typeof CancelRunsRequest>;

/** Where the response about a page of runs ends. */
export const PageOfMany = {
  created_before: Type.Union([Time, Type.Null()], {
    description:
      'A time just after the creation of the newest run of this page; null for an empty page. In the filter of the next request, it excludes runs that were queued after this response.',
  }),
  next_cursor: NextCursor,
};

export const CancelRunsResponse = Type.Object(
  {
    matched: Type.Integer({
      minimum: 0,
      description:
        'Runs of this page that still matched the filter when they were read, including runs with an earlier cancel request.',
    }),
    cancelled: Type.Integer({ minimum: 0, description: 'Of these, runs that ended at once.' }),
    requested: Type.Integer({
      minimum: 0,
      description:
        'Of these, executing runs whose cancellation was requested now; they end within the grace period. Runs with an earlier cancel request do not count.',
    }),
    failed: Type.Integer({
      minimum: 0,
      description:
        'Further runs of this page that could not be cancelled: they kept changing, or their state could not be read. Repeat the request. A run whose events expired before its end always fails, until the list drops it.',
    }),
    ...PageOfMany,
  },
  { title: 'CancelRunsResponse' },
);

export const RerunRequest = Type.Object(
  {
    inputs: optional({
      ...Inputs,
      description:
        'Replaces all inputs of the run, except that secret inputs which it leaves out are those of the run.',
    }),
  },
  { title: 'RerunRequest' },
);

import { Type, type Static } from 'typebox';
import { RunSource } from '../../events/run-event-data.ts';
import { GpuName } from '../../gpu.ts';
import { MAX_INLINE_BYTES } from '../../limits.ts';
import { MAX_TAGS, Tag, TAG_RULE, TAGS_PATTERN } from '../../run-options.ts';
import { nullable, optional } from '../../schemas.ts';
import {
  Cursor,
  DeploymentUuid,
  EXAMPLE_IDS,
  FilteredDeployment,
  NextCursor,
  PageLimit,
  RunUuid,
  ScheduleUuid,
  Time,
  time,
  TimeOrDay,
  VISIBLE,
  wordsOf,
  WorkflowUuid,
} from '../fields.ts';
import { Inputs } from './queue-run.ts';
import { RunStatus } from './run-attempt.ts';
import { IncludedMembers, WorkflowRun } from './run.ts';

const After = { ...TimeOrDay, description: 'Runs created at this time or later.' };
const Before = { ...TimeOrDay, description: 'Runs created before this time.' };

const OfDeployment = { ...DeploymentUuid, description: 'Runs of this deployment.' };
const OfWorkflow = { ...WorkflowUuid, description: 'Runs of this workflow, of any version.' };
const OfGpu = { ...GpuName, description: 'Runs whose `gpu` is this model, in upper or lower case.' };
const OfOrigin = { ...RunSource, description: `Only runs of this origin. ${RunSource.description}` };
const OfSchedule = { ...ScheduleUuid, description: 'Runs that this schedule queued, also a deleted one.' };

/** Of a search. */
const MAX_SEARCH = 200;
/** Of inputs that are stored with a run. */
const KIB = MAX_INLINE_BYTES / 1024;
const Search = Type.String({
  minLength: 1,
  maxLength: MAX_SEARCH,
  pattern: VISIBLE,
  examples: ['red fox'],
  description: `Runs whose id begins with this text, of 8 characters or more. If there is none: runs that have the text in a tag, in the name or the value of an input, or in the message of their error, and runs of deployments that have it in their name. Upper and lower case are the same, and so are all spaces. It looks at the first 1,000 characters of each value and the first 2,000 of all inputs, and at the first 500 of a message; not at secret inputs, nor at inputs of more than ${KIB} KiB in total. A page looks at a bounded number of runs.`,
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: `Send a text of 1 to ${MAX_SEARCH} characters that is not blank`,
  },
});

const OneTag = { ...Tag, 'x-refusal': { type: 'string_pattern_mismatch', msg: TAG_RULE } };
const TAGGED = 'Runs with all of these tags.';

/** In a query, where a list may also be written with commas. */
export const RunConditions = {
  status: Type.Optional(Type.Array(RunStatus, { description: 'Runs with one of these statuses.' })),
  deployment_id: Type.Optional(OfDeployment),
  deployment: Type.Optional(FilteredDeployment),
  workflow_id: Type.Optional(OfWorkflow),
  schedule_id: Type.Optional(OfSchedule),
  gpu: Type.Optional(OfGpu),
  origin: Type.Optional(OfOrigin),
  tag: Type.Optional(Type.Array(OneTag, { minItems: 1, maxItems: MAX_TAGS, description: TAGGED })),
  search: Type.Optional(Search),
  created_after: Type.Optional(After),
  created_before: Type.Optional(Before),
};

export const RunListQuery = Type.Object({
  ...RunConditions,
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
      Type.Array(RunUuid, {
        description:
          'Only present with `at`: runs that had been queued by then, and of which neither the log nor the archive has the facts any more. Usually empty.',
      }),
    ),
    searched_to: Type.Optional(
      nullable(
        time(
          'Only present with `search`: all runs that were created after this time were looked at. A search ends its page after a fraction of a second, even if it found nothing.',
        ),
        'Null when all runs were looked at. Otherwise `next_cursor` looks further back.',
      ),
    ),
    next_cursor: NextCursor,
  },
  { title: 'RunPage', description: 'A page of runs.' },
);

export const RunFilter = Type.Object(
  {
    status: optional({
      ...wordsOf(RunStatus),
      examples: ['queued'],
      description:
        'Runs with one of these statuses. Of those that the operation concerns; all of these without it.',
    }),
    deployment_id: optional(OfDeployment),
    deployment: optional(FilteredDeployment),
    workflow_id: optional(OfWorkflow),
    schedule_id: optional(OfSchedule),
    gpu: optional(OfGpu),
    origin: optional(OfOrigin),
    tag: optional(
      Type.Union(
        [Type.String({ pattern: TAGS_PATTERN }), Type.Array(Tag, { minItems: 1, maxItems: MAX_TAGS })],
        {
          description: TAGGED,
          examples: [['customer:17']],
          'x-refusal': {
            type: 'string_pattern_mismatch',
            msg: `Send 1 to ${MAX_TAGS} tags: a list, or a text with commas. ${TAG_RULE}`,
          },
        },
      ),
    ),
    search: optional(Search),
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
  dry_run: optional(
    Type.Boolean({
      default: false,
      description: 'Whether the runs are only counted, and nothing is done.',
      examples: [true],
    }),
  ),
  cursor: optional(Cursor),
};
// A misspelt `dry_run` would do it for real.
const strict = { additionalProperties: false };

export const CancelRunsRequest = Type.Object(ManyRuns, {
  title: 'CancelRunsRequest',
  description: 'Which runs to cancel.',
  examples: [{ filter: { deployment_id: EXAMPLE_IDS.deployment_id }, dry_run: true }],
  ...strict,
});
export const RerunRunsRequest = Type.Object(ManyRuns, {
  title: 'RerunRunsRequest',
  description: 'Which runs to queue again.',
  examples: [{ filter: { deployment_id: EXAMPLE_IDS.deployment_id, status: 'failed' }, dry_run: true }],
  ...strict,
});
/** A request about the runs that match a filter. */
export type ManyRunsRequest = Static<typeof CancelRunsRequest>;

/** Where the response about a page of runs ends. */
export const PageOfMany = {
  created_before: Type.Union([Time, Type.Null()], {
    examples: ['2026-01-31T09:30:00.001Z'],
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
        'The number of runs of this page that still matched the filter when they were read, including runs with an earlier cancel request.',
      examples: [40],
    }),
    cancelled: Type.Integer({
      minimum: 0,
      description: 'Of these, the number of runs that ended at once.',
      examples: [30],
    }),
    requested: Type.Integer({
      minimum: 0,
      description:
        'Of these, the number of executing runs whose cancellation was requested now; they end within the grace period. Runs with an earlier cancel request do not count.',
      examples: [8],
    }),
    failed: Type.Integer({
      minimum: 0,
      description:
        'The number of further runs of this page that could not be cancelled: they kept changing, or their state could not be read. Repeat the request. A run whose events expired before its end always fails, until the list drops it.',
      examples: [0],
    }),
    ...PageOfMany,
  },
  { title: 'CancelRunsResponse', description: 'What became of the runs of one page.' },
);

export const RerunRequest = Type.Object(
  {
    inputs: optional({
      ...Inputs,
      description:
        'Replaces all inputs of the run, except that secret inputs which it leaves out are those of the run.',
    }),
  },
  {
    title: 'RerunRequest',
    description: 'What another run has instead of what the run had.',
    examples: [{ inputs: { size: 256 } }],
  },
);

export const RunCountQuery = Type.Object(RunConditions);

const count = (description: string): Type.TInteger =>
  Type.Integer({ minimum: 0, description, examples: [3] });

export const RunCounts = Type.Object(
  {
    counts: Type.Object(
      {
        queued: count('Runs that wait for a slot.'),
        started: count('Runs that an executor prepares.'),
        running: count('Runs whose workflow executes.'),
        uploading: count('Runs whose output files are being stored.'),
        success: count('Runs that ended without an error.'),
        failed: count('Runs that ended with an error.'),
        timeout: count('Runs that ended at a time limit.'),
        cancelled: count('Runs that were cancelled.'),
      },
      {
        title: 'RunCountsByStatus',
        description:
          'Of each status the runs that match every filter; 0 for a status that `status` leaves out.',
      },
    ),
    total: count('The sum of `counts`.'),
    complete: Type.Boolean({
      description:
        'Whether all runs were looked at. If false, `counts` and `total` are of the newest runs, and there may be more.',
      examples: [true],
    }),
  },
  { title: 'RunCounts', description: 'How many runs have each status.' },
);
export type RunCounts = Static<typeof RunCounts>;

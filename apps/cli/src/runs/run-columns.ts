import { nullable } from '@runledger/contracts/schemas';
import { Type, type Static } from 'typebox';

/** `time`: ISO 8601 as JSON, milliseconds since 1970 in UTC in Parquet. `list`: a list as JSON, its JSON text in Parquet. */
export type ColumnType = 'text' | 'number' | 'integer' | 'boolean' | 'time' | 'list';

export interface RunColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** With its unit, and when it is null. */
  readonly description: string;
  readonly of: (run: ExportedRun) => string | number | boolean | readonly string[] | null;
}

const last = ({ attempts }: ExportedRun): ExportedRun['attempts'][number] | undefined => attempts.at(-1);

/** How many outputs are not texts. */
const filesOf = ({ outputs }: ExportedRun): number =>
  outputs
    .flatMap(({ data }) => Object.entries(data).flatMap(([kind, items]) => (kind === 'json' ? [] : items)))
    .filter((item) => typeof item !== 'string').length;

/** Columns of one type. `unit`: what their descriptions end with. */
const columns =
  (type: ColumnType, unit = '') =>
  (name: string, description: string, of: RunColumn['of']): RunColumn => ({
    name,
    type,
    description: `${description}${unit}`,
    of,
  });
const text = columns('text');
const time = columns('time');
const seconds = columns('number', ', in seconds');
const count = columns('integer');

/** The columns of an export, in their order. None is renamed or changes its type; later releases add some at the end. */
export const RUN_COLUMNS: readonly RunColumn[] = [
  text('run_id', 'The id of the run', ({ id }) => id),
  count(
    'number',
    'Counts the runs of the organisation: unique there, and increasing, with gaps',
    ({ number }) => number,
  ),
  text('org_id', 'Its organisation', ({ org_id }) => org_id),
  text('user_id', 'The user whose API key queued it', ({ user_id }) => user_id),
  text('workflow_id', 'Its workflow', ({ workflow_id }) => workflow_id),
  text('workflow_version_id', 'The version of the workflow', (run) => run.workflow_version_id),
  text('machine_id', 'Its machine', ({ machine_id }) => machine_id),
  text('machine_type', 'The type of its machine', ({ machine_type }) => machine_type),
  text(
    'gpu',
    'The GPU model of its last attempt; of a queued run the first one that it may take',
    ({ gpu }) => gpu,
  ),
  text('origin', 'How it was queued: `api`, `manual` or `replay`', ({ origin }) => origin),
  text(
    'status',
    '`queued`, `started`, `running`, `uploading`, `success`, `failed`, `timeout` or `cancelled`, when it was exported',
    ({ status }) => status,
  ),
  text('end_reason', 'Why it ended; null before', ({ end_reason }) => end_reason),
  text('error_kind', 'The kind of its error; null without one', ({ error }) => error?.kind ?? null),
  text(
    'error_message',
    'Why it failed, for people; null if it did not',
    ({ error }) => error?.message ?? null,
  ),
  {
    name: 'error_retryable',
    type: 'boolean',
    description: 'Whether it may succeed when it is queued again; null if it did not fail',
    of: ({ error }) => error?.retryable ?? null,
  },
  count('priority', 'As requested', ({ priority }) => priority),
  text('concurrency_key', 'As requested; null without one', ({ concurrency_key }) => concurrency_key),
  { name: 'tags', type: 'list', description: 'As requested, in alphabetical order', of: ({ tags }) => tags },
  text('rerun_of', 'The run that it repeats; null for none', ({ rerun_of }) => rerun_of),
  text('schedule_id', 'The schedule that queued it; null for none', ({ schedule }) => schedule?.id ?? null),
  time('created_at', 'When it was queued', ({ created_at }) => created_at),
  time(
    'started_at',
    'When its workflow began to execute in the last attempt that did; null if it never did',
    ({ started_at }) => started_at,
  ),
  time('ended_at', 'When it ended; null before', ({ ended_at }) => ended_at),
  time('updated_at', 'The time of its last fact', ({ updated_at }) => updated_at),
  seconds('duration_s', 'From created_at to ended_at; null before it ended', ({ duration }) => duration),
  seconds(
    'start_delay_s',
    'From created_at to started_at; null before it started',
    (run) => run.cold_start_duration_total,
  ),
  seconds(
    'cold_start_s',
    'How long its last attempt waited for its model or program to load; 0 when it was warm',
    (run) => run.cold_start_duration,
  ),
  seconds('run_s', 'From started_at to ended_at; null before it ended', ({ run_duration }) => run_duration),
  {
    name: 'progress',
    type: 'number',
    description: 'The last reported progress, 0 to 1',
    of: ({ progress }) => progress,
  },
  count('attempts', 'How many attempts it has had', ({ attempts }) => attempts.length),
  text(
    'executor',
    'The executor of its last attempt; null before the first',
    (run) => last(run)?.executor ?? null,
  ),
  text(
    'placement',
    '`warm` when the last attempt got a slot that had its version loaded, else `cold`; null when unknown',
    (run) => last(run)?.placement?.choice ?? null,
  ),
  seconds(
    'waited_s',
    'How long it waited for the slot of its last attempt; null when unknown',
    (run) => last(run)?.placement?.waited_s ?? null,
  ),
  count('output_files', 'How many output files it has', filesOf),
  text(
    'webhook_status',
    '`not-started`, `running`, `success` or `failed`; null without a webhook',
    (run) => run.webhook_status,
  ),
];

const Text = Type.String();

/** The members of a run that exports have. A service of a later release may have more words for some of them. */
export const ExportedRun = Type.Object({
  id: Text,
  number: Type.Integer(),
  org_id: Text,
  user_id: Text,
  workflow_id: Text,
  workflow_version_id: Text,
  machine_id: Text,
  machine_type: Text,
  gpu: Text,
  origin: Text,
  status: Text,
  end_reason: nullable(Text),
  error: nullable(Type.Object({ kind: Text, message: Text, retryable: Type.Boolean() })),
  priority: Type.Integer(),
  concurrency_key: nullable(Text),
  tags: Type.Array(Text),
  rerun_of: nullable(Text),
  schedule: nullable(Type.Object({ id: Text })),
  created_at: Text,
  started_at: nullable(Text),
  ended_at: nullable(Text),
  updated_at: Text,
  duration: nullable(Type.Number()),
  cold_start_duration: nullable(Type.Number()),
  cold_start_duration_total: nullable(Type.Number()),
  run_duration: nullable(Type.Number()),
  progress: Type.Number(),
  attempts: Type.Array(
    Type.Object({
      executor: Text,
      placement: nullable(Type.Object({ choice: Text, waited_s: Type.Number() })),
    }),
  ),
  outputs: Type.Array(Type.Object({ data: Type.Record(Text, Type.Array(Type.Unknown())) })),
  webhook_status: nullable(Text),
});
export type ExportedRun = Static<typeof ExportedRun>;

export const ExportedRuns = Type.Object({
  runs: Type.Array(ExportedRun),
  next_cursor: nullable(Text),
});

import { Type, type Static } from 'typebox';
import {
  CatchUpS as AnyCatchUpS,
  DayFields as AnyDayFields,
  DEFAULT_CATCH_UP_S,
  MAX_COUNTED,
  MAX_CRON,
  MAX_OUTCOMES,
  MAX_TIME_ZONE,
  OverlapPolicy,
  ScheduledRequest,
  ScheduleOutcome as StoredOutcome,
} from '../../catalogue/schedules.ts';
import { ConcurrencyKey } from '../../run-options.ts';
import { GpuModel } from '../../gpu.ts';
import {
  Name,
  NewName,
  DEPLOYMENT_NAME,
  DeploymentName,
  DeploymentUuid,
  EXAMPLE_IDS,
  FilteredDeployment,
  OrganisationUuid,
  RunUuid,
  ScheduleUuid,
  UserUuid,
  VersionUuid,
  CreatedAt,
  Cursor,
  NextCursor,
  PageLimit,
  time,
  Time,
} from '../fields.ts';
import { nullable, optional, unchanged } from '../../schemas.ts';
import { DeploymentRunRequest } from '../runs/queue-run.ts';

const Cron = Type.String({
  minLength: 1,
  maxLength: MAX_CRON,
  examples: ['0 9 * * MON-FRI'],
  description:
    'Five fields: minute, hour, day of month, month, day of week (0 or 7 is Sunday). `*`, lists, ranges, steps and names such as `MON` or `JAN`, `L` for the last day of the month, `15W` for the nearest weekday, `FRI#2` for the second Friday; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. `day_fields` says what counts when both day fields are given.',
});
const TimeZone = Type.String({
  minLength: 1,
  maxLength: MAX_TIME_ZONE,
  examples: ['Europe/Berlin'],
  description:
    'A name of the IANA time zone database, such as `Europe/Berlin` or `UTC`, with its aliases. Abbreviations such as `BST` and offsets are refused, since they mean several. Where clocks change: a given time of day that is skipped comes right after the gap, and one that occurs twice counts the first time only. An expression with `*` or a step in its minutes or hours follows the elapsed time instead, through both.',
});
const DayFields = { ...AnyDayFields, examples: ['or'] };
const CatchUpS = {
  ...AnyCatchUpS,
  examples: [3600],
  description:
    'A time that nobody could handle, because the service was down, is made up for within so many seconds. Later it counts as missed.',
};
const Paused = Type.Boolean({
  description: 'Whether it is paused: it then has no times, and those that pass meanwhile are not missed.',
  examples: [false],
});

const ScheduleOutcome = Type.Object(
  {
    ...StoredOutcome.properties,
    time: time('A time of the schedule; the first one of several that were missed together.'),
    last_time: time('The last one of several times that were missed together; otherwise the same as `time`.'),
    times: Type.Integer({
      minimum: 1,
      maximum: MAX_COUNTED,
      description: `How many times; of more than ${MAX_COUNTED} missed ones, ${MAX_COUNTED} are counted.`,
      examples: [1],
    }),
    run_id: nullable(
      {
        ...RunUuid,
        description: 'Of `queued`: the run. Of `skipped`: the run that had not ended.',
      },
      'Null for the others.',
    ),
    message: nullable(
      Type.String({
        description: 'Why no run was queued, for people.',
        examples: ['An earlier run of the schedule had not ended.'],
      }),
      'Null when one was.',
    ),
    handled_at: time('When that was known, by the clock of the broker.'),
  },
  { title: 'ScheduleOutcome', description: 'What came of a time of a schedule.' },
);

/** A schedule says by itself when its runs start. */
const {
  deployment_id: _id,
  deployment: _name,
  delay_s: _delay,
  start_at: _start,
  strict_inputs: _strict,
  ...requested
} = DeploymentRunRequest.properties;

/** What people read about a member of the request. */
const about = (member: keyof typeof requested): { description?: unknown; examples?: unknown } => {
  const schema: object = requested[member].anyOf[0];
  return {
    ...('description' in schema && { description: schema.description }),
    ...('examples' in schema && { examples: schema.examples }),
  };
};
const stored = ScheduledRequest.properties;

/** The request of the queued runs, with its defaults filled in. */
const shownRequest = {
  deployment_id: { ...DeploymentUuid, description: 'The deployment that it queues runs of.' },
  workflow_version_id: nullable(
    { ...VersionUuid, description: 'The workflow version of its runs.' },
    'Null for the one that the deployment has at each time.',
  ),
  inputs: { ...stored.inputs, ...about('inputs') },
  webhook: nullable(
    {
      ...stored.webhook.anyOf[0],
      description: 'The callback URL of its runs. To a key without the scope `admin` it shows the host only.',
      examples: ['https://hooks.example.com/[hidden]'],
    },
    'Null without one.',
  ),
  webhook_intermediate_status: {
    ...stored.webhook_intermediate_status,
    ...about('webhook_intermediate_status'),
  },
  gpu: nullable(
    { ...GpuModel, description: 'The GPU model that its runs request, in upper case.' },
    'Null when they request none.',
  ),
  priority: { ...stored.priority, ...about('priority') },
  concurrency_key: nullable({ ...ConcurrencyKey, ...about('concurrency_key') }, 'Null without one.'),
  run_timeout_s: nullable(
    { ...stored.run_timeout_s.anyOf[0], ...about('run_timeout_s') },
    'Null for those of the deployment.',
  ),
  start_deadline_s: nullable(
    { ...stored.start_deadline_s.anyOf[0], ...about('start_deadline_s') },
    'Null for those of the deployment.',
  ),
  tags: { ...stored.tags, ...about('tags') },
};

export const Schedule = Type.Object(
  {
    id: ScheduleUuid,
    org_id: OrganisationUuid,
    user_id: { ...UserUuid, description: 'The user who made it, and whose runs it queues.' },
    name: Name,
    cron: Cron,
    time_zone: TimeZone,
    day_fields: DayFields,
    overlap: OverlapPolicy,
    catch_up_s: CatchUpS,
    paused: Paused,
    ...shownRequest,
    created_at: CreatedAt,
    next_times: Type.Array(Time, {
      description: 'Its next five times; none while it is paused.',
    }),
    outcomes: Type.Array(ScheduleOutcome, {
      description: `What came of its last times, at most ${MAX_OUTCOMES}, the latest first.`,
    }),
  },
  {
    title: 'Schedule',
    description: 'It queues a run of a deployment at each of its times, on the clock of the broker.',
  },
);
export type Schedule = Static<typeof Schedule>;

const ScheduledDeployment = {
  ...DeploymentName,
  description: `${DEPLOYMENT_NAME} It is looked up now: the schedule keeps the id of the deployment, and of the version.`,
};

export const NewSchedule = Type.Object(
  {
    name: NewName,
    deployment_id: optional({
      ...DeploymentUuid,
      description: 'The deployment that is to run. It is required, unless `deployment` names one.',
    }),
    deployment: optional(ScheduledDeployment),
    cron: Cron,
    time_zone: optional({ ...TimeZone, default: 'UTC' }),
    day_fields: optional({ ...DayFields, default: 'or' }),
    overlap: optional({ ...OverlapPolicy, default: 'skip' }),
    catch_up_s: optional({ ...CatchUpS, default: DEFAULT_CATCH_UP_S }),
    paused: optional({ ...Paused, default: false }),
    ...requested,
  },
  {
    title: 'NewSchedule',
    description:
      'The other members are those of a request that queues a run of the deployment, without `delay_s` and `start_at`.',
    examples: [
      {
        name: 'nightly',
        deployment_id: EXAMPLE_IDS.deployment_id,
        cron: '0 3 * * *',
        time_zone: 'Europe/Berlin',
      },
    ],
  },
);
export type NewSchedule = Static<typeof NewSchedule>;

/** Null gives a member its default here. */
const whenNull = 'Unchanged when it is omitted; null gives it its default.';
const changedRequest = {
  inputs: optional(requested.inputs.anyOf[0], whenNull),
  webhook: optional(requested.webhook.anyOf[0], whenNull),
  webhook_intermediate_status: optional(requested.webhook_intermediate_status.anyOf[0], whenNull),
  gpu: optional(requested.gpu.anyOf[0], whenNull),
  priority: optional(requested.priority.anyOf[0], whenNull),
  run_timeout_s: optional(requested.run_timeout_s.anyOf[0], whenNull),
  start_deadline_s: optional(requested.start_deadline_s.anyOf[0], whenNull),
  concurrency_key: optional(requested.concurrency_key.anyOf[0], whenNull),
  tags: optional(requested.tags.anyOf[0], whenNull),
};

export const ScheduleChange = Type.Object(
  {
    name: unchanged(NewName),
    deployment_id: unchanged({ ...DeploymentUuid, description: 'The deployment that is to run.' }),
    deployment: unchanged(ScheduledDeployment),
    cron: unchanged(Cron),
    time_zone: unchanged(TimeZone),
    day_fields: unchanged(DayFields),
    overlap: unchanged(OverlapPolicy),
    catch_up_s: unchanged(CatchUpS),
    paused: unchanged(Paused),
    ...changedRequest,
  },
  {
    title: 'ScheduleChange',
    description:
      'Omitted members stay unchanged. Null gives a member of the queued runs its default. `inputs` replaces all inputs.',
    examples: [{ paused: true }],
  },
);
export type ScheduleChange = Static<typeof ScheduleChange>;

export const SchedulePage = Type.Object(
  { schedules: Type.Array(Schedule, { description: 'The newest first.' }), next_cursor: NextCursor },
  { title: 'SchedulePage', description: 'A page of schedules.' },
);

export const SchedulePath = Type.Object({ schedule_id: ScheduleUuid });

export const SchedulesQuery = Type.Object({
  deployment_id: Type.Optional({
    ...DeploymentUuid,
    description: 'Only schedules of this deployment.',
  }),
  deployment: Type.Optional(FilteredDeployment),
  name: Type.Optional({
    ...Name,
    description: 'Only schedules with exactly this name; several may have it.',
  }),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

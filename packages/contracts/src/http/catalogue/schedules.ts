import { Type, type Static } from 'typebox';
import {
  CatchUpS as AnyCatchUpS,
  DEFAULT_CATCH_UP_S,
  MAX_COUNTED,
  MAX_CRON,
  MAX_OUTCOMES,
  MAX_TIME_ZONE,
  OverlapPolicy,
  ScheduledRequest,
  ScheduleOutcome as StoredOutcome,
} from '../../catalogue/schedules.ts';
import { Name, NewName } from '../fields/names.ts';
import { nullable, optional } from '../fields/optional.ts';
import { Cursor, NextCursor, PageLimit, Time, Uuid } from '../fields/values.ts';
import { DeploymentRunRequest } from '../runs/queue-run.ts';

const Cron = Type.String({
  minLength: 1,
  maxLength: MAX_CRON,
  examples: ['0 9 * * MON-FRI'],
  description:
    'Five fields: minute, hour, day of month, month, day of week (0 or 7 is Sunday). `*`, lists, ranges, steps and names such as `MON` or `JAN`, `L` for the last day of the month, `15W` for the nearest weekday, `FRI#2` for the second Friday; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. When both day fields are given, a day that fits one of them fits.',
});
const TimeZone = Type.String({
  minLength: 1,
  maxLength: MAX_TIME_ZONE,
  examples: ['Europe/Berlin'],
  description:
    'An IANA time zone. Where clocks change: a given time of day that is skipped comes right after the gap, and one that occurs twice counts the first time only. An expression with `*` or a step in its minutes or hours follows the elapsed time instead, through both.',
});
const Overlap = {
  ...OverlapPolicy,
  description:
    'While an earlier run of the schedule has not ended: `skip` leaves the time out, `allow` queues another run, `cancel_other` asks to cancel the earlier run and queues another one at once. With `allow` and a `concurrency_key` the runs execute one after the other.',
};
const CatchUpS = {
  ...AnyCatchUpS,
  description:
    'A time that nobody could handle, because the service was down, is made up for within so many seconds. Later it counts as missed.',
};
const Paused = Type.Boolean({
  description: 'A paused schedule has no times. Those that pass meanwhile are not missed.',
});

export const ScheduleOutcome = Type.Object(
  {
    ...StoredOutcome.properties,
    last_time: Type.String({
      format: 'date-time',
      description: 'The last one of several times that were missed together; otherwise the same as `time`.',
    }),
    times: Type.Integer({
      minimum: 1,
      maximum: MAX_COUNTED,
      description: `How many times; of more than ${MAX_COUNTED} missed ones, ${MAX_COUNTED} are counted.`,
    }),
    outcome: {
      ...StoredOutcome.properties.outcome,
      description:
        '`queued`: a run was queued. `skipped`: an earlier run had not ended. `missed`: nobody could handle it within `catch_up_s`. `refused`: no run could be queued.',
    },
    run_id: nullable(
      Type.String({
        format: 'uuid',
        description: 'Of `queued`: the run. Of `skipped`: the run that had not ended.',
      }),
    ),
  },
  { title: 'ScheduleOutcome' },
);

export const Schedule = Type.Object(
  {
    id: Uuid,
    org_id: Uuid,
    user_id: Type.String({ format: 'uuid', description: 'Who made it, and whose runs it queues.' }),
    name: Name,
    cron: Cron,
    time_zone: TimeZone,
    overlap: Overlap,
    catch_up_s: CatchUpS,
    paused: Paused,
    ...ScheduledRequest.properties,
    created_at: Time,
    next_times: Type.Array(Time, { description: 'The next five; none while it is paused.' }),
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

/** A schedule says by itself when its runs start. */
const {
  deployment_id: _deployment,
  delay_s: _delay,
  start_at: _start,
  ...requested
} = DeploymentRunRequest.properties;

export const NewSchedule = Type.Object(
  {
    name: NewName,
    deployment_id: Uuid,
    cron: Cron,
    time_zone: optional({ ...TimeZone, default: 'UTC' }),
    overlap: optional({ ...Overlap, default: 'skip' }),
    catch_up_s: optional({ ...CatchUpS, default: DEFAULT_CATCH_UP_S }),
    paused: optional({ ...Paused, default: false }),
    ...requested,
  },
  {
    title: 'NewSchedule',
    description:
      'The other members are those of a request that queues a run of the deployment, without `delay_s` and `start_at`.',
  },
);
export type NewSchedule = Static<typeof NewSchedule>;

export const ScheduleChange = Type.Object(
  {
    name: optional(NewName),
    deployment_id: optional(Uuid),
    cron: optional(Cron),
    time_zone: optional(TimeZone),
    overlap: optional(Overlap),
    catch_up_s: optional(CatchUpS),
    paused: optional(Paused),
    ...requested,
  },
  {
    title: 'ScheduleChange',
    description:
      'Omitted members stay unchanged. Null gives a member of the queued runs its default. `inputs` replaces all inputs.',
  },
);
export type ScheduleChange = Static<typeof ScheduleChange>;

export const SchedulePage = Type.Object(
  { schedules: Type.Array(Schedule), next_cursor: NextCursor },
  { title: 'SchedulePage' },
);

export const SchedulePath = Type.Object({ schedule_id: Uuid });

export const SchedulesQuery = Type.Object({
  deployment_id: Type.Optional(Uuid),
  name: Type.Optional({
    ...Name,
    description: 'Only schedules with exactly this name; several may have it.',
  }),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

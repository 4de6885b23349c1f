import { Type, type Static } from 'typebox';
import { ConcurrencyKey, Priority, MAX_TAGS, Tag } from '../run-options.ts';
import { GpuModel } from '../gpu.ts';
import { enumInWords, JsonRecord } from '../schemas.ts';
import { MAX_SCHEDULE_MESSAGE, MAX_WEBHOOK_URL } from '../limits.ts';

const Uuid = Type.String({ format: 'uuid' });
const Seconds = Type.Number({ exclusiveMinimum: 0 });
const Time = Type.String({ format: 'date-time' });

/** What a schedule does at one of its times while an earlier run of it has not ended. */
export const OverlapPolicy = enumInWords(
  {
    skip: 'The time is left out.',
    allow: 'Another run is queued. With a `concurrency_key` the runs execute one after the other.',
    cancel_other: 'The earlier run is asked to be cancelled, and another one is queued at once.',
  },
  { description: 'What happens at a time while an earlier run of the schedule has not ended.' },
);
export type OverlapPolicy = Static<typeof OverlapPolicy>;

/** How the two day fields of a cron expression go together. */
export const DayFields = enumInWords(
  {
    or: 'A day that fits one of them fits, as in cron: `0 9 1-7 * MON` is each Monday and each of the first seven days.',
    and: 'A day has to fit both: `0 9 1-7 * MON` is the first Monday of the month.',
  },
  { description: 'What a day has to fit when both day of month and day of week are given.' },
);
export type DayFields = Static<typeof DayFields>;

/** Seconds by which a time may have been missed and is still made. */
export const CatchUpS = Type.Integer({ minimum: 60, maximum: 86_400 });
export const DEFAULT_CATCH_UP_S = 3_600;

/** Characters of a cron expression and of the name of a time zone. */
export const MAX_CRON = 256;
export const MAX_TIME_ZONE = 64;
/** The outcomes that a schedule keeps, the latest ones. */
export const MAX_OUTCOMES = 20;
/** Times that are handled together, oldest first. */
export const MAX_DUE = 16;
/** Runs of a schedule that may not have ended, the latest ones. */
export const MAX_OPEN_RUNS = 10;
/** Of times that were missed together, so many are counted. */
export const MAX_COUNTED = 1_000;

/** What came of a time, or of several times that were missed together. */
export const ScheduleOutcome = Type.Object({
  time: Time,
  /** The last one of several times; otherwise the same. */
  last_time: Time,
  /** At most `MAX_COUNTED` are counted. */
  times: Type.Integer({ minimum: 1, maximum: MAX_COUNTED }),
  outcome: enumInWords(
    {
      queued: 'A run was queued.',
      skipped: 'An earlier run had not ended.',
      missed: 'Nobody could handle it within `catch_up_s`.',
      refused: 'No run could be queued: `message` says why.',
    },
    { description: 'What came of it.' },
  ),
  /** Of `queued`: the run. Of `skipped`: the run that had not ended. */
  run_id: Type.Union([Uuid, Type.Null()]),
  /** Why no run was queued. */
  message: Type.Union([Type.String({ maxLength: MAX_SCHEDULE_MESSAGE }), Type.Null()]),
  /** The broker's time when it was known. */
  handled_at: Time,
});
export type ScheduleOutcome = Static<typeof ScheduleOutcome>;

/** What each run of a schedule is queued with: a request with its defaults filled in. */
export const ScheduledRequest = Type.Object({
  deployment_id: Uuid,
  /** Left out for the version that the deployment has. */
  workflow_version_id: Type.Optional(Uuid),
  inputs: JsonRecord,
  webhook: Type.Union([Type.String({ maxLength: MAX_WEBHOOK_URL }), Type.Null()]),
  webhook_intermediate_status: Type.Boolean(),
  gpu: Type.Union([GpuModel, Type.Null()]),
  priority: Priority,
  concurrency_key: Type.Union([ConcurrencyKey, Type.Null()]),
  run_timeout_s: Type.Union([Seconds, Type.Null()]),
  start_deadline_s: Type.Union([Seconds, Type.Null()]),
  tags: Type.Array(Tag, { maxItems: MAX_TAGS }),
});

/**
 * A schedule and how far it is. Each change is one write at the revision that it was decided on, so no time is handled twice and none is
 * lost between two writes.
 */
export const Schedule = Type.Object({
  id: Uuid,
  org_id: Uuid,
  /** Who made it, and whose runs it makes. */
  user_id: Uuid,
  name: Type.String({ minLength: 1, maxLength: 128 }),
  cron: Type.String({ minLength: 1, maxLength: MAX_CRON }),
  time_zone: Type.String({ minLength: 1, maxLength: MAX_TIME_ZONE }),
  day_fields: DayFields,
  overlap: OverlapPolicy,
  catch_up_s: CatchUpS,
  paused: Type.Boolean(),
  request: ScheduledRequest,
  created_at: Time,
  /** The first time that is not handled, on the broker's clock; null while it is paused. */
  next_at: Type.Union([Time, Type.Null()]),
  /** Times that have come and have no outcome yet, in their order. */
  due: Type.Array(Time, { maxItems: MAX_DUE }),
  open_runs: Type.Array(Uuid, { maxItems: MAX_OPEN_RUNS }),
  /** The latest first. */
  outcomes: Type.Array(ScheduleOutcome, { maxItems: MAX_OUTCOMES }),
});
export type Schedule = Static<typeof Schedule>;

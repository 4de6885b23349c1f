import { Schedule, type ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket, type Bucket } from '@runledger/event-log/streams/bucket';
import type { Tenant } from '../../fixtures/gateway/a-tenant.ts';

/** What a schedule requests when it is created without more. */
export const REQUEST_DEFAULTS = {
  inputs: {},
  webhook: null,
  webhook_intermediate_status: false,
  gpu: null,
  priority: 0,
  concurrency_key: null,
  run_timeout_s: null,
  start_deadline_s: null,
  tags: [],
} satisfies Partial<Schedule['request']>;

/** Every minute, with nothing handled; it is not stored. */
export const aSchedule = (fields: Partial<Schedule> = {}): Schedule => ({
  id: newUuid(),
  org_id: newUuid(),
  user_id: newUuid(),
  name: 'report',
  cron: '* * * * *',
  time_zone: 'UTC',
  day_fields: 'or',
  overlap: 'allow',
  catch_up_s: 3_600,
  paused: false,
  request: { deployment_id: newUuid(), ...REQUEST_DEFAULTS },
  created_at: '2026-01-01T00:00:00.000Z',
  next_at: '2026-01-01T00:01:00.000Z',
  due: [],
  open_runs: [],
  outcomes: [],
  ...fields,
});

const MINUTE_MS = 60_000;

/** A whole minute, so many before now. */
export const minutesAgo = (minutes: number): string =>
  new Date((Math.floor(Date.now() / MINUTE_MS) - minutes) * MINUTE_MS).toISOString();

export const scheduleBucket = (log: EventLog): Bucket<Schedule> => openBucket(log, 'SCHEDULES', Schedule);

export const keyOf = ({ org_id, id }: Pick<Schedule, 'org_id' | 'id'>): string => `schedules.${org_id}.${id}`;

/** Stores a schedule of a tenant's deployment. Whoever handles schedules sees it within a second. */
export const storeSchedule = async (
  log: EventLog,
  { org_id, user_id, deployment }: Tenant,
  {
    request,
    ...fields
  }: Partial<Omit<Schedule, 'request'>> & { readonly request?: Partial<Schedule['request']> },
): Promise<Schedule> => {
  const schedule = aSchedule({ org_id, user_id, ...fields });
  const stored = {
    ...schedule,
    request: { ...schedule.request, deployment_id: deployment.id, ...request },
  };
  await scheduleBucket(log).put(keyOf(stored), stored);
  return stored;
};

/** Stores a schedule with a time that is due, which waits for the end of an earlier run. What came of it is read by the result. */
export const dueBehind = async (
  log: EventLog,
  tenant: Tenant,
  { run_id }: RunKey,
): Promise<() => Promise<ScheduleOutcome | undefined>> => {
  const schedule = await storeSchedule(log, tenant, {
    overlap: 'skip',
    open_runs: [run_id],
    due: [minutesAgo(2)],
    cron: '@yearly',
    next_at: '2999-01-01T00:00:00.000Z',
  });
  return async () => (await scheduleBucket(log).get(keyOf(schedule)))?.value.outcomes[0];
};

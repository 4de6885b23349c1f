import { allRead } from '@runledger/contracts/all-read';
import { isDeepStrictEqual } from 'node:util';
import {
  NewSchedule,
  Schedule,
  ScheduleChange,
  SchedulePage,
  SchedulePath,
  SchedulesQuery,
} from '@runledger/contracts/http/catalogue/schedules';
import type { Schedule as ScheduleRecord } from '@runledger/contracts/catalogue/schedules';
import { jsonBytes, type JsonValue } from '@runledger/contracts/json';
import { MAX_SCHEDULE_INPUTS_BYTES } from '@runledger/contracts/limits';
import {
  changed,
  created,
  deleted,
  found,
  newOrigin,
  refusedBy,
  checkRecordCursor,
  isNamed,
  recordSpan,
} from '../../records/catalogue/record-answers.ts';
import { operation, route, type Caller, type ExtraCheck, type Route } from '../../door/operation.ts';
import { cursorAt } from '../../door/pagination.ts';
import { invalidRequest, invalid, Refused, type Conflict, type Invalid } from '../../door/refusal.ts';
import { overQuota } from '../../records/quotas/quotas.ts';
import type { Kit } from '../../kit.ts';
import type { Runs } from '../runs.ts';
import { queueRequestOf, type DeploymentQueue } from '../facts/deployment-queue.ts';
import { showCallback } from '../facts/shown-webhooks.ts';
import { changedSchedule, newSchedule, shownSchedule } from './schedule.decide.ts';
import type { ScheduleRecords } from '../../records/schedule-records.ts';
import { inputsProblems } from '../facts/check-inputs.ts';
import { own } from '../../door/compiled.ts';
import { readCron, type CronSettings } from './cron-times.decide.ts';

const tag = 'Schedules';

const createOperation = operation({
  id: 'createSchedule',
  method: 'POST',
  path: '/schedules',
  tag,
  summary: 'Create a schedule',
  description:
    'It queues a run of a deployment at the times of a cron expression, each time once, on the clock of the broker. Its runs belong to the user of this API key, and it goes on when the key is revoked: pause or delete it then.',
  scope: 'admin',
  audit: { action: 'schedule.created' },
  request: { body: NewSchedule },
  response: {
    status: 201,
    description: 'The schedule.',
    body: Schedule,
    links: { to: ['getSchedule', 'changeSchedule', 'deleteSchedule'], parameters: { schedule_id: '/id' } },
  },
  refusals: [],
});

const listOperation = operation({
  id: 'listSchedules',
  method: 'GET',
  path: '/schedules',
  tag,
  summary: 'List schedules',
  description: 'Newest first.',
  scope: 'runs:read',
  request: { query: SchedulesQuery },
  response: { status: 200, description: 'A page of schedules.', body: SchedulePage },
  refusals: [],
});

const getOperation = operation({
  id: 'getSchedule',
  method: 'GET',
  path: '/schedules/{schedule_id}',
  tag,
  summary: 'Read a schedule, its next times, and what came of the last ones',
  scope: 'runs:read',
  request: { path: SchedulePath },
  response: { status: 200, description: 'The schedule.', body: Schedule },
  refusals: [404],
});

const changeOperation = operation({
  id: 'changeSchedule',
  method: 'PATCH',
  path: '/schedules/{schedule_id}',
  tag,
  summary: 'Change, pause or resume a schedule',
  description:
    'Queued runs keep what they were queued with. Other times begin now: those that have come before are handled as they were.',
  scope: 'admin',
  audit: { action: 'schedule.changed', target: 'schedule_id' },
  request: { path: SchedulePath, body: ScheduleChange },
  response: { status: 200, description: 'The schedule as it is now.', body: Schedule },
  refusals: [404],
});

const deleteOperation = operation({
  id: 'deleteSchedule',
  method: 'DELETE',
  path: '/schedules/{schedule_id}',
  tag,
  summary: 'Delete a schedule',
  description: 'Its runs go on, and keep showing its id.',
  scope: 'admin',
  audit: { action: 'schedule.deleted', target: 'schedule_id' },
  request: { path: SchedulePath },
  response: { status: 204, description: 'The schedule is deleted.' },
  refusals: [404],
});

/** What schedules are kept by. */
interface Schedules {
  readonly records: ScheduleRecords;
  /** In milliseconds since 1970. */
  readonly brokerNow: () => Promise<number>;
}

export const scheduleRoutes = (kit: Kit, runs: Runs, schedules: Schedules): Route[] => {
  const { records, brokerNow } = schedules;
  const checkBody: ExtraCheck = ({ body }) => bodyProblems(kit, runs, body);
  return [
    route(createOperation, createSchedule(kit, runs, schedules), checkBody),
    route(
      listOperation,
      async ({ query }, caller) => {
        const { deployment_id, name, limit, cursor, ...unread } = query;
        allRead(unread);
        const page = await records.page(
          caller.org_id,
          recordSpan({ limit, cursor }),
          (one) =>
            isNamed({ name })(one) && (deployment_id === undefined || one.deployment_id === deployment_id),
        );
        const now = await brokerNow();
        const shown = page.items.map((one) => shownSchedule(one, shownTo(caller), now));
        return { schedules: shown, next_cursor: cursorAt(page.end) };
      },
      checkRecordCursor,
    ),
    route(getOperation, async ({ path }, caller) => {
      const schedule = found(await records.get(caller.org_id, path.schedule_id), 'Schedule');
      return shownSchedule(schedule, shownTo(caller), await brokerNow());
    }),
    route(changeOperation, changeSchedule(runs, schedules), checkBody),
    route(deleteOperation, async ({ path }, { org_id }) =>
      deleted(await records.remove<Conflict>(org_id, path.schedule_id, async () => undefined), 'Schedule'),
    ),
  ];
};

const shownTo = ({ key }: Caller) => showCallback(key.scopes);

const createSchedule =
  ({ now }: Kit, { deployments, quotas }: Runs, { records, brokerNow }: Schedules) =>
  async ({ body }: { readonly body: NewSchedule }, caller: Caller): Promise<Schedule> => {
    const request = scheduledRequestOf(body);
    await checkRequest(deployments, caller, request);
    const at = await brokerNow();
    const { org_id, user_id } = caller;
    const schedule = newSchedule(body, request, { ...newOrigin(org_id, now), user_id }, at);
    const quota = quotas.schedules;
    const result = await quota.within(org_id, 1, () => records.create(schedule));
    if (result === 'over_quota')
      throw overQuota(
        `The organisation has ${quota.limit} schedules, which is its limit: change or delete one of them, or ask the operator for a higher RUNLEDGER_QUOTA_SCHEDULES`,
      );
    return shownSchedule(created(result, refusedBy), shownTo(caller), at);
  };

interface ChangeRequest {
  readonly path: { readonly schedule_id: string };
  readonly body: ScheduleChange;
}

const changeSchedule =
  ({ deployments }: Runs, { records, brokerNow }: Schedules) =>
  async ({ path, body }: ChangeRequest, caller: Caller): Promise<Schedule> => {
    const at = await brokerNow();
    const result = await records.change<never>(caller.org_id, path.schedule_id, async (schedule) => {
      const { deployment_id, ...requested } = body;
      const named = { deployment_id: deployment_id ?? schedule.request.deployment_id };
      const request = scheduledRequestOf({ ...schedule.request, ...requested, ...named });
      // Otherwise a schedule of an archived deployment could not be paused.
      if (!isDeepStrictEqual(request, schedule.request)) await checkRequest(deployments, caller, request);
      const record = changedSchedule(schedule, body, request, at);
      const problems = (body.cron ?? body.day_fields) ? timesProblems(record, at) : [];
      if (problems.length > 0) throw invalidRequest(...problems);
      return { kind: 'changed', record };
    });
    return shownSchedule(changed(result, 'Schedule', refusedBy), shownTo(caller), at);
  };

/** What is wrong with a body beyond its schema. @throws {Refused} for inputs that are too large */
const bodyProblems = (
  { config, now }: Kit,
  { callbacks }: Runs,
  body: JsonValue | undefined,
): readonly Invalid[] => {
  const inputs = own(body, 'inputs');
  const webhook = own(body, 'webhook');
  const forbidden = typeof webhook === 'string' ? callbacks.problem(webhook) : undefined;
  const problems = [...cronProblems(body, now().getTime()), ...inputsProblems(inputs, config)];
  if (problems.length === 0 && jsonBytes(inputs as JsonValue) > MAX_SCHEDULE_INPUTS_BYTES)
    throw new Refused({
      code: 'inputs_too_large',
      why: `The inputs of a schedule may have at most ${MAX_SCHEDULE_INPUTS_BYTES} bytes as JSON: upload a file, and name its id`,
    });
  return [...problems, ...(forbidden ? [forbidden] : [])];
};

/** Each is checked with a usual one of the other, since a change may have one of them only. */
const cronProblems = (body: JsonValue | undefined, now: number): Invalid[] => {
  const [cron, time_zone] = [own(body, 'cron'), own(body, 'time_zone')];
  const day_fields = own(body, 'day_fields') === 'and' ? 'and' : 'or';
  return [
    ...(typeof cron === 'string' ? timesProblems({ ...USUAL, cron, day_fields }, now) : []),
    ...(typeof time_zone === 'string' ? timesProblems({ ...USUAL, time_zone }, now) : []),
  ];
};

const USUAL: CronSettings = { cron: '@daily', time_zone: 'UTC', day_fields: 'or' };

/** What is wrong with the times of a schedule as a whole. */
const timesProblems = (settings: CronSettings, now: number): Invalid[] => {
  const read = readCron(settings, now);
  return read.kind === 'wrong' ? [valueError(read.member, read.why)] : [];
};

/** What the runs of a schedule are queued with. It says by itself when they start. */
const scheduledRequestOf = (body: Parameters<typeof queueRequestOf>[0]): ScheduleRecord['request'] => {
  const { delay_s: _delay, start_at: _start, strict_inputs: _strict, ...request } = queueRequestOf(body);
  return request;
};

/**
 * Whether a run could be queued now. What changes later, such as the version of the deployment, shows in the outcomes of the schedule.
 * @throws {Refused} @throws {LogUnavailable}
 */
const checkRequest = async (
  { decide }: DeploymentQueue,
  given: Caller,
  request: ScheduleRecord['request'],
): Promise<void> => {
  const { decision } = await decide(
    { org_id: given.org_id, user_id: given.user_id, isStored: true },
    queueRequestOf(request),
  );
  if (decision.kind === 'queued') return;
  const { why } = decision;
  if (typeof why === 'object') throw invalidRequest(...why.problems);
  throw invalidRequest(valueError('deployment_id', NO_DEPLOYMENT[why]));
};

const NO_DEPLOYMENT = {
  no_deployment: 'the organisation has no deployment with this id',
  archived_deployment: 'the deployment is archived. Restore it, or name another',
};

const valueError = (member: string, why: string): Invalid =>
  invalid(['body', member], 'value_error', `Value error, ${why}`);

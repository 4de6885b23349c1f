import { isDeepStrictEqual } from 'node:util';
import {
  NewSchedule,
  Schedule,
  ScheduleChange,
  SchedulePage,
  SchedulePath,
  SchedulesQuery,
} from '@runledger/contracts/http/catalogue/schedules';
import { changed, created, deleted, found, newOrigin, refusedBy } from '../catalogue/record-answers.ts';
import { checkRecordCursor, isNamed, recordSpan } from '../catalogue/record-lists.ts';
import { operation, route, type Caller, type ExtraCheck, type Route } from '../http/operation.ts';
import { cursorAt } from '../http/pagination.ts';
import { invalidRequest, type Conflict } from '../http/refusal.ts';
import { overQuota } from '../quotas/over-quota.ts';
import type { QuotaBound } from '../quotas/quota-bound.ts';
import type { DeploymentQueue } from '../runs/queue/deployment-queue.ts';
import { showCallback } from '../webhooks/core/show-callback.ts';
import {
  bodyProblems,
  checkRequest,
  scheduledRequestOf,
  timesProblems,
  type BodyRules,
} from './check-schedule.ts';
import { changedSchedule, newSchedule, shownSchedule } from './core/schedule.ts';
import type { ScheduleRecords } from './schedule-records.ts';

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

export interface ScheduleRoutes extends BodyRules {
  readonly schedules: ScheduleRecords;
  readonly deployments: Pick<DeploymentQueue, 'decide'>;
  readonly quota: QuotaBound;
  /** In milliseconds since 1970. */
  readonly brokerNow: () => Promise<number>;
}

export const scheduleRoutes = (options: ScheduleRoutes): Route[] => {
  const { schedules, brokerNow } = options;
  const checkBody: ExtraCheck = ({ body }) => bodyProblems(body, options);
  return [
    route(createOperation, createSchedule(options), checkBody),
    route(
      listOperation,
      async ({ query }, caller) => {
        const { deployment_id } = query;
        const page = await schedules.page(
          caller.org_id,
          recordSpan(query),
          (one) =>
            isNamed(query)(one) && (deployment_id === undefined || one.deployment_id === deployment_id),
        );
        const now = await brokerNow();
        const shown = page.items.map((one) => shownSchedule(one, shownTo(caller), now));
        return { schedules: shown, next_cursor: cursorAt(page.end) };
      },
      checkRecordCursor,
    ),
    route(getOperation, async ({ path }, caller) => {
      const schedule = found(await schedules.get(caller.org_id, path.schedule_id), 'Schedule');
      return shownSchedule(schedule, shownTo(caller), await brokerNow());
    }),
    route(changeOperation, changeSchedule(options), checkBody),
    route(deleteOperation, async ({ path }, { org_id }) =>
      deleted(await schedules.remove<Conflict>(org_id, path.schedule_id, async () => undefined), 'Schedule'),
    ),
  ];
};

const shownTo = ({ key }: Caller) => showCallback(key.scopes);

const createSchedule =
  ({ schedules, deployments, quota, brokerNow, now }: ScheduleRoutes) =>
  async ({ body }: { readonly body: NewSchedule }, caller: Caller): Promise<Schedule> => {
    const request = scheduledRequestOf(body);
    await checkRequest(deployments, caller, request);
    const at = await brokerNow();
    const { org_id, user_id } = caller;
    const schedule = newSchedule(body, request, { ...newOrigin(org_id, now), user_id }, at);
    const result = await quota.within(org_id, 1, () => schedules.create(schedule));
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
  ({ schedules, deployments, brokerNow }: ScheduleRoutes) =>
  async ({ path, body }: ChangeRequest, caller: Caller): Promise<Schedule> => {
    const at = await brokerNow();
    const result = await schedules.change<never>(caller.org_id, path.schedule_id, async (schedule) => {
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

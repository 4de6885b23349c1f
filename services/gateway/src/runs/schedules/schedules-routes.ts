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
  deleted,
  newIdentity,
  recordOperations,
  refusedBy,
  checkRecordCursor,
  isNamed,
  recordSpan,
} from '../../records/catalogue/record-answers.ts';
import { route, type Caller, type ExtraCheck, type Route } from '../../door/operation.ts';
import { cursorAt } from '../../door/pagination.ts';
import {
  found,
  invalidRequest,
  wrongValue,
  Refused,
  type Conflict,
  type Invalid,
} from '../../door/refusal.ts';
import { catalogue } from '../../records/catalogue/catalogue.ts';
import { withinQuota } from '../../records/quotas/quotas.ts';
import type { Kit } from '../../kit.ts';
import type { Runs } from '../runs.ts';
import { queueRequestOf, requestedSettings, type DeploymentQueue } from '../facts/deployment-queue.ts';
import {
  choiceIn,
  choiceProblems,
  filteredDeploymentId,
  NO_SUCH_NAME,
  storedChoice,
  type StoredChoice,
} from '../facts/named-deployment.ts';
import type { DeploymentChoice } from '../facts/queue-run.decide.ts';
import { showCallback } from '../run-response.ts';
import { changedSchedule, newSchedule, scheduleResponse } from './schedule.decide.ts';
import type { ScheduleRecords } from '../../records/schedule-records.ts';
import { inputsProblems } from '../facts/check-inputs.ts';
import { own } from '../../door/compiled.ts';
import { readCron, type CronSettings } from './cron-times.decide.ts';

const operations = recordOperations(
  'schedule',
  {
    path: SchedulePath,
    query: SchedulesQuery,
    page: SchedulePage,
    shown: Schedule,
    create: NewSchedule,
    change: ScheduleChange,
  },
  {
    tag: 'Schedules',
    summaries: {
      get: 'Read a schedule, its next times, and what came of the last ones',
      change: 'Change, pause or resume a schedule',
    },
    descriptions: {
      create:
        'It queues a run of a deployment at the times of a cron expression, each time once, on the clock of the broker. Its runs belong to the user of this API key, and it goes on when the key is revoked: pause or delete it then.',
      change:
        'Queued runs keep what they were queued with. Other times begin now: those that have come before are handled as they were.',
      delete: 'Its runs go on, and keep showing its id.',
    },
    conflicts: [],
  },
);

/** What schedules are kept by. */
interface Schedules {
  readonly records: ScheduleRecords;
  /** In milliseconds since 1970. */
  readonly brokerNow: () => Promise<number>;
}

export const scheduleRoutes = (kit: Kit, runs: Runs, { records, brokerNow }: Schedules): Route[] => {
  const { deployments, quotas } = runs;
  const quota = quotas.schedules;
  const { deployments: known } = catalogue(kit.log);
  const checkBody: ExtraCheck = ({ body }) => bodyProblems(kit, runs, body);
  const responseFor = (schedule: ScheduleRecord, { key }: Caller, now: number): Schedule =>
    scheduleResponse(schedule, showCallback(key.scopes), now);
  return [
    route(
      operations.create,
      async ({ body }, caller) => {
        const choice = found(choiceIn(body), 'Deployment');
        const request = await checkedRequest(deployments, caller, body, choice);
        const at = await brokerNow();
        const { org_id, user_id } = caller;
        const schedule = newSchedule(body, request, { ...newIdentity(org_id, kit.now), user_id }, at);
        const full = `The organisation has ${quota.limit} schedules, which is its limit: change or delete one of them, or ask the operator for a higher RUNLEDGER_QUOTA_SCHEDULES`;
        const result = await withinQuota(quota, org_id, 1, () => records.create(schedule), full);
        return responseFor(changed(result, 'Schedule', refusedBy), caller, at);
      },
      (given) => [...choiceProblems(given.body, true), ...checkBody(given)],
    ),
    route(
      operations.list,
      async ({ query }, caller) => {
        const { deployment_id, deployment, name, limit, cursor, ...unread } = query;
        allRead(unread);
        const named = { deployment_id, deployment };
        const deploymentId = await filteredDeploymentId(known, caller.org_id, named, ['query']);
        const page = await records.page(
          caller.org_id,
          recordSpan({ limit, cursor }),
          (one) =>
            isNamed({ name })(one) &&
            (deploymentId === undefined || one.request.deployment_id === deploymentId),
        );
        const now = await brokerNow();
        const schedules = page.items.map((one) => responseFor(one, caller, now));
        return { schedules, next_cursor: cursorAt(page.end) };
      },
      checkRecordCursor,
    ),
    route(operations.get, async ({ path }, caller) => {
      const schedule = found(await records.get(caller.org_id, path.schedule_id), 'Schedule');
      return responseFor(schedule, caller, await brokerNow());
    }),
    route(
      operations.change,
      async ({ path, body }, caller) => {
        const at = await brokerNow();
        const result = await records.change<never>(caller.org_id, path.schedule_id, async (schedule) => {
          const choice = choiceIn(body) ?? storedChoice(schedule.request);
          const requested = { ...schedule.request, ...body };
          // Otherwise a schedule of an archived deployment could not be paused.
          const isSame =
            'deployment_id' in choice &&
            isDeepStrictEqual({ ...scheduledSettings(requested), ...choice }, schedule.request);
          const request = isSame
            ? schedule.request
            : await checkedRequest(deployments, caller, requested, choice);
          const record = changedSchedule(schedule, body, request, at);
          const problems = (body.cron ?? body.day_fields) ? timesProblems(record, at) : [];
          if (problems.length > 0) throw invalidRequest(...problems);
          return { kind: 'changed', record };
        });
        return responseFor(changed(result, 'Schedule', refusedBy), caller, at);
      },
      (given) => [...choiceProblems(given.body, false), ...checkBody(given)],
    ),
    route(operations.delete, async ({ path }, { org_id }) =>
      deleted(await records.remove<Conflict>(org_id, path.schedule_id, async () => undefined), 'Schedule'),
    ),
  ];
};

/** What is wrong with a body beyond its schema. @throws {Refused} for inputs that are too large */
const bodyProblems = (
  { config, now }: Kit,
  { callbacks }: Runs,
  body: JsonValue | undefined,
): readonly Invalid[] => {
  const inputs = own(body, 'inputs');
  const problems = [...cronProblems(body, now().getTime()), ...inputsProblems(inputs, config)];
  if (problems.length === 0 && jsonBytes(inputs as JsonValue) > MAX_SCHEDULE_INPUTS_BYTES)
    throw new Refused({
      code: 'inputs_too_large',
      why: `The inputs of a schedule may have at most ${MAX_SCHEDULE_INPUTS_BYTES} bytes as JSON: upload a file, and name its id`,
    });
  return [...problems, ...callbacks.problems(own(body, 'webhook'))];
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

type RequestedBody = Parameters<typeof requestedSettings>[0];

/** What the runs of a schedule are queued with, but for the deployment. It says by itself when they start. */
const scheduledSettings = (body: RequestedBody): Omit<ScheduleRecord['request'], keyof StoredChoice> => {
  const { delay_s: _delay, start_at: _start, strict_inputs: _strict, ...settings } = requestedSettings(body);
  return settings;
};

/**
 * What a schedule keeps, if a run could be queued with it now. What changes later, such as the version of the deployment, shows in the
 * outcomes of the schedule. @throws {Refused} @throws {LogUnavailable}
 */
const checkedRequest = async (
  { decide }: DeploymentQueue,
  given: Caller,
  body: RequestedBody,
  choice: DeploymentChoice,
): Promise<ScheduleRecord['request']> => {
  const settings = scheduledSettings(body);
  const { decision, hasOwnVersion } = await decide(
    { org_id: given.org_id, user_id: given.user_id, isStored: true },
    queueRequestOf(settings, choice),
  );
  if (decision.kind === 'queued') {
    const { deployment_id, workflow_version_id } = decision.run.settings;
    return { deployment_id, ...(hasOwnVersion && { workflow_version_id }), ...settings };
  }
  const { why } = decision;
  if (typeof why === 'object') throw invalidRequest(...why.problems);
  const isNamed = 'deployment' in choice;
  throw invalidRequest(
    valueError(
      isNamed ? 'deployment' : 'deployment_id',
      why === 'no_deployment' && isNamed ? NO_SUCH_NAME : NO_DEPLOYMENT[why],
    ),
  );
};

const NO_DEPLOYMENT = {
  no_deployment: 'the organisation has no deployment with this id',
  archived_deployment: 'the deployment is archived. Restore it, or name another',
  no_version: 'the deployment has no workflow version with this number',
};

const valueError = (member: string, why: string): Invalid => wrongValue(['body', member], why);

import type { Schedule as ScheduleRecord } from '@runledger/contracts/catalogue/schedules';
import { jsonBytes, type JsonValue } from '@runledger/contracts/json';
import { MAX_SCHEDULE_INPUTS_BYTES } from '@runledger/contracts/limits';
import type { Caller } from '../http/operation.ts';
import { invalid, invalidRequest, Refused, type Invalid } from '../http/refusal.ts';
import type { CallbackRules } from '../runs/queue/callback-rules.ts';
import type { DeploymentQueue } from '../runs/queue/deployment-queue.ts';
import { queueRequestOf } from '../runs/queue/queue-request.ts';
import { inputsProblems, type InputLimits } from '../runs/queue/input-limits.ts';
import { own } from '../validation/node.ts';
import { readCron, type CronSettings } from './core/cron-times.ts';

export interface BodyRules {
  readonly limits: InputLimits;
  readonly callbacks: Pick<CallbackRules, 'problem'>;
  readonly now: () => Date;
}

/** What is wrong with a body beyond its schema. @throws {Refused} for inputs that are too large */
export const bodyProblems = (
  body: JsonValue | undefined,
  { limits, callbacks, now }: BodyRules,
): readonly Invalid[] => {
  const inputs = own(body, 'inputs');
  const webhook = own(body, 'webhook');
  const forbidden = typeof webhook === 'string' ? callbacks.problem(webhook) : undefined;
  const problems = [...cronProblems(body, now().getTime()), ...inputsProblems(inputs, limits)];
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
export const timesProblems = (settings: CronSettings, now: number): Invalid[] => {
  const read = readCron(settings, now);
  return read.kind === 'wrong' ? [valueError(read.member, read.why)] : [];
};

/** What the runs of a schedule are queued with. It says by itself when they start. */
export const scheduledRequestOf = (body: Parameters<typeof queueRequestOf>[0]): ScheduleRecord['request'] => {
  const { delay_s: _delay, start_at: _start, strict_inputs: _strict, ...request } = queueRequestOf(body);
  return request;
};

/**
 * Whether a run could be queued now. What changes later, such as the version of the deployment, shows in the outcomes of the schedule.
 * @throws {Refused} @throws {LogUnavailable}
 */
export const checkRequest = async (
  { decide }: Pick<DeploymentQueue, 'decide'>,
  given: Pick<Caller, 'org_id' | 'user_id'>,
  request: ScheduleRecord['request'],
): Promise<void> => {
  const { decision } = await decide({ ...given, isStored: true }, queueRequestOf(request));
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

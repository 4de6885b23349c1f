import { RunSource } from '@runledger/contracts/events/run-event-data';
import { RunStatus } from '@runledger/contracts/http/runs/run-attempt';
import type { RunFilter } from '@runledger/contracts/http/runs/runs';
import { isUuid } from '@runledger/contracts/ids';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ApiCall } from '../api/api-call.ts';
import { deployments } from '../catalogue/deployments.ts';
import { schedules, optionalId } from '../catalogue/named-records.ts';
import { workflows } from '../catalogue/workflows.ts';
import { tags, decimalNumber, secondsOf } from '../command/option-values.ts';

export interface RunFilterOptions {
  readonly status?: readonly string[];
  readonly deployment?: string;
  readonly workflow?: string;
  readonly schedule?: string;
  readonly gpu?: string;
  readonly origin?: string;
  readonly tag?: readonly string[];
  readonly search?: string;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
}

/** Each member of the filter of the API, so that a new one does not compile before it has an option. A name is looked up here, once: all pages are of the same deployment. */
type FilterMembers = Readonly<Record<Exclude<keyof RunFilter, 'deployment'>, string | undefined>>;

export const addRunFilter = (command: Command): Command => addTimes(addRunConditions(command));

const addTimes = (command: Command): Command =>
  command
    .option('--created-after <time>', 'created at this time or later, such as 2026-05-01T12:00:00Z')
    .option('--created-before <time>', 'created before this time');

/** Apart from times. */
export const addRunConditions = (command: Command): Command =>
  addOtherConditions(command.addOption(statusOption()));

/** Its choices are also for the help and for completion, which know nothing of commas. */
const statusOption = (): Option => {
  const option = new Option('--status <status>', 'of the run; several with commas, or repeat the option');
  option.choices(RunStatus.enum).argParser(statuses);
  return option;
};

/** Where the status is given already. */
export const addFilterWithoutStatus = (command: Command): Command => addTimes(addOtherConditions(command));

const addOtherConditions = (command: Command): Command =>
  command
    .option('--deployment <deployment>', 'of this deployment')
    .option('--workflow <workflow>', 'of any version of this workflow')
    .option('--schedule <schedule>', 'queued by this schedule')
    .option('--gpu <model>', 'on this GPU model')
    .addOption(new Option('--origin <origin>', 'how it was queued').choices(RunSource.enum))
    .option('--tag <tag>', 'with this tag; with all of several, with commas or repeated', tags)
    .option(
      '--search <text>',
      'whose id begins with it, or whose tags, inputs, error or deployment name have it',
    );

const statuses = (text: string, before: readonly string[] = []): string[] => {
  const words = text.split(',').map((word) => word.trim());
  const known: readonly string[] = RunStatus.enum;
  if (!words.every((word) => known.includes(word)))
    throw new InvalidArgumentError(`Allowed choices are ${known.join(', ')}.`);
  return [...before, ...words];
};

/** For a query or a body. A missing option is undefined. */
export const runFilterOf = async (call: ApiCall, options: RunFilterOptions): Promise<FilterMembers> => ({
  status: options.status?.join(','),
  deployment_id: await optionalId(call, deployments, options.deployment),
  workflow_id: await optionalId(call, workflows, options.workflow),
  schedule_id: await optionalId(call, schedules, options.schedule),
  gpu: options.gpu,
  origin: options.origin,
  tag: options.tag?.join(','),
  search: options.search,
  created_after: options.createdAfter,
  created_before: options.createdBefore,
});

/** The deployment of a request that queues runs. The service knows what a name means; an id is no name. */
export const deploymentIn = (
  given: string,
): { readonly deployment_id: string } | { readonly deployment: string } =>
  isUuid(given.toLowerCase()) ? { deployment_id: given } : { deployment: given };

/** When a run starts and how long it may take. */
export interface QueueSettings {
  readonly priority?: string;
  readonly concurrencyKey?: string;
  readonly runTimeout?: string;
  readonly startDeadline?: string;
  readonly delay?: string;
  readonly startAt?: string;
  readonly tag?: readonly string[];
}

export const addQueueSettings = (command: Command): Command =>
  addSettingsOfRuns(command)
    .option('--delay <time>', 'start it this time later, such as 90 (seconds), 15m or 2h')
    .option('--start-at <time>', 'start it at this time or later, such as 2026-05-01T12:00:00Z');

/** Those that do not say when it starts. */
export const addSettingsOfRuns = (command: Command): Command =>
  command
    .option(
      '--priority <number>',
      'from -100 to 100: each step starts it as if it were queued a minute earlier',
    )
    .option(
      '--concurrency-key <key>',
      'such as a user: one run of the deployment with this key executes at a time',
    )
    .option(
      '--run-timeout <time>',
      "how long an attempt may execute, such as 90 (seconds), 15m or 2h; the deployment's by default",
    )
    .option('--start-deadline <time>', "how long it may wait until it starts; the deployment's by default")
    .option('--tag <tag>', 'a word of yours to find it by; several with commas, or repeat the option', tags);

/** The members of a request. A missing option is undefined. */
export const queueSettingsOf = (options: QueueSettings): Readonly<Record<string, unknown>> => ({
  priority: decimalNumber('--priority', options.priority),
  concurrency_key: options.concurrencyKey,
  run_timeout_s: secondsOf('--run-timeout', options.runTimeout),
  start_deadline_s: secondsOf('--start-deadline', options.startDeadline),
  delay_s: secondsOf('--delay', options.delay),
  start_at: options.startAt,
  tags: options.tag,
});

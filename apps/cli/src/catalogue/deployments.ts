import { Deployment, DeploymentPage } from '@runledger/contracts/http/catalogue/deployments';
import type { Command } from 'commander';
import type { ApiCall } from '../api-client/api-call.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { decimalNumber, secondsOf, wholeNumber } from '../options/numbers.ts';
import { addRecordCommands, addRecordList } from './record-commands.ts';
import { changeRecord, createRecord, firstRows, lastRows, listRecords } from './records.ts';
import { machines } from './machines.ts';
import { idByName, optionalId } from './named-records.ts';
import type { ListedRecords, RecordKind, RecordListOptions } from './records.ts';
import { versionReference } from './version-reference.ts';
import { workflows } from './workflows.ts';

const listed: Pick<ListedRecords<Deployment>, 'what' | 'path' | 'readPage'> = {
  what: 'Deployment',
  path: '/deployments',
  readPage: async (call, request) => {
    const page = await call(DeploymentPage, request);
    return { ...page, items: page.deployments };
  },
};

export const deployments: RecordKind<Deployment> = {
  ...listed,
  idOf: idByName(listed),
  send: (call, request) => call(Deployment, request),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'GPU', width: 9, of: ({ gpu }) => gpu },
    { title: 'ENVIRONMENT', width: 12, of: ({ environment }) => environment },
    { title: 'VERSION', width: 36, of: ({ workflow_version_id }) => workflow_version_id },
    { title: 'NAME', width: 0, of: ({ name }) => name },
  ],
  rows: (deployment) => [
    ...firstRows(deployment),
    ['workflow', deployment.workflow_id],
    ['version', deployment.workflow_version_id],
    ['machine', deployment.machine_id],
    ['environment', deployment.environment],
    ['gpu', gpuWords(deployment.gpus)],
    ['labels', deployment.labels.join(', ') || 'none'],
    ['warm wait', `${deployment.warm_wait_s} s`],
    ['concurrency limit', deployment.concurrency_limit?.toString() ?? 'none'],
    ['weight', String(deployment.weight)],
    ['run timeout', `${deployment.run_timeout_s} s`],
    ['start deadline', `${deployment.start_deadline_s} s`],
    ['bounds', boundsWords(deployment.bounds)],
    ['attempts', String(deployment.retry.attempts)],
    ...lastRows(deployment),
  ],
  nameOf: ({ name }) => name,
};

const gpuWords = (gpus: Deployment['gpus']): string =>
  gpus.map(({ gpu, after_s }) => (after_s > 0 ? `${gpu} after ${after_s} s` : gpu)).join(', ') ||
  "the machine's";

/** @throws CommandError */
const gpusOf = (text: string | undefined) =>
  text?.split(',').map((step) => {
    const [gpu = '', time] = step.trim().split(':', 2);
    return time === undefined ? gpu : { gpu, after_s: secondsOf('--gpus', time) };
  });

interface DeploymentOptions extends Json {
  readonly name?: string;
  readonly version?: string;
  readonly machine?: string;
  readonly environment?: string;
  /** False with `--no-gpu`. */
  readonly gpu?: string | false;
  readonly gpus?: string;
  /** False with `--no-label`. */
  readonly label?: readonly string[] | false;
  readonly warmWait?: string;
  readonly concurrencyLimit?: string | false;
  readonly weight?: string;
  readonly runTimeout?: string;
  readonly startDeadline?: string;
  readonly minPriority?: string;
  readonly maxPriority?: string;
  readonly maxDelay?: string;
  /** False with `--no-bounds`. */
  readonly bounds?: boolean;
  readonly attempts?: string;
}

interface DeploymentListOptions extends RecordListOptions {
  readonly workflow?: string;
}

/** The deployments of an organisation: what runs are queued on. */
export const addDeploymentCommands = (program: Command, parts: CommandContext): void => {
  const { client, end, add } = parts;
  const group = program
    .command('deployments')
    .description('workflow versions on machines, on which runs are queued');
  addRecordList(parts, group, { name: 'list', description: 'list deployments, newest first' })
    .option('--workflow <workflow>', 'of one workflow')
    .action(async ({ workflow, ...options }: DeploymentListOptions) => {
      const opened = await client();
      const workflow_id = await optionalId(opened.call, workflows, workflow);
      end(await listRecords(opened, deployments, { ...options, filter: { workflow_id } }));
    });
  addRecordCommands(parts, group, deployments);
  addSettings(
    add(group, 'create', 'make a deployment')
      .requiredOption('--name <name>', 'for people')
      .requiredOption('--version <version>', 'the id of a workflow version, or WORKFLOW@NUMBER')
      .requiredOption('--machine <machine>', 'where it executes'),
  ).action(async (options: DeploymentOptions) => {
    const opened = await client();
    const body = await fieldsOf(opened.call, options);
    end(await createRecord(opened, deployments, { body, json: options.json }));
  });
  addSettings(
    add(group, 'update <deployment>', 'change a deployment; queued runs keep their settings')
      .option('--name <name>', 'for people')
      .option('--version <version>', 'the id of a workflow version, or WORKFLOW@NUMBER')
      .option('--machine <machine>', 'where it executes'),
  )
    .option('--no-gpu', "use the machine's GPU")
    .option('--no-label', 'ask for no labels')
    .option('--no-concurrency-limit', 'remove the limit')
    .option('--no-bounds', 'remove the bounds of requests')
    .action(async (given: string, options: DeploymentOptions) => {
      const opened = await client();
      const change = await fieldsOf(opened.call, options);
      end(await changeRecord(opened, deployments, { given, change, json: options.json }));
    });
};

const addSettings = (command: Command): Command =>
  command
    .option('--environment <word>', 'any word, such as staging')
    .option('--gpu <model>', 'any model, such as RTX4090, for runs without --gpu')
    .option(
      '--label <label>',
      'one that executors of its runs must have, such as zone:eu-west-1; can be repeated',
      (label, all?: readonly string[]) => [...(all ?? []), label],
    )
    .option(
      '--gpus <models>',
      'several models in order of preference, each with the seconds of waiting after which it may be taken, such as L4,A10G:60',
    )
    .option('--warm-wait <time>', 'how long a run may wait for a busy slot that has its version loaded')
    .option('--concurrency-limit <number>', 'how many of its runs may execute at the same time')
    .option(
      '--weight <number>',
      'its part of the GPUs beside your other deployments, such as 2; 1 by default',
    )
    .option(
      '--run-timeout <time>',
      'how long an attempt may execute, at most, such as 90 (seconds), 15m or 2h',
    )
    .option('--start-deadline <time>', 'how long a run may wait until it starts, at most')
    .option('--min-priority <number>', 'the lowest priority that a request may have, from -100 to 0')
    .option('--max-priority <number>', 'the highest priority that a request may have, from 0 to 100')
    .option('--max-delay <time>', 'by how long a request may delay its run')
    .option('--attempts <number>', 'how often a run may start if executors are lost');

const fieldsOf = async (call: ApiCall, options: DeploymentOptions) => {
  const { name, version, machine, environment, gpu, label, concurrencyLimit: limit } = options;
  const attempts = wholeNumber('--attempts', options.attempts);
  return {
    name,
    workflow_version_id: await optionalId(call, versionReference, version),
    machine_id: await optionalId(call, machines, machine),
    environment,
    gpu: gpu === false ? null : gpu,
    gpus: gpusOf(options.gpus),
    labels: label === false ? [] : label,
    warm_wait_s: secondsOf('--warm-wait', options.warmWait),
    concurrency_limit: limit === false ? null : wholeNumber('--concurrency-limit', limit),
    weight: decimalNumber('--weight', options.weight),
    run_timeout_s: secondsOf('--run-timeout', options.runTimeout),
    start_deadline_s: secondsOf('--start-deadline', options.startDeadline),
    bounds: boundsOf(options),
    retry: attempts === undefined ? undefined : { attempts },
  };
};

/** Undefined when no option names one. */
const boundsOf = ({ bounds, minPriority, maxPriority, maxDelay }: DeploymentOptions) => {
  if (bounds === false) return null;
  if ([minPriority, maxPriority, maxDelay].every((bound) => bound === undefined)) return undefined;
  return {
    min_priority: decimalNumber('--min-priority', minPriority),
    max_priority: decimalNumber('--max-priority', maxPriority),
    max_delay_s: secondsOf('--max-delay', maxDelay),
  };
};

const boundsWords = ({ min_priority, max_priority, max_delay_s }: Deployment['bounds']): string =>
  `priority from ${min_priority} to ${max_priority}${max_delay_s === null ? '' : `, delay up to ${max_delay_s} s`}`;

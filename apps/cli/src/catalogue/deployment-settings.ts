import { isDeepStrictEqual } from 'node:util';
import { gpuModel } from '@runledger/contracts/gpu';
import type { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import { Option, type Command } from 'commander';
import {
  gpuModelsOf,
  type GpuStep,
  decimalNumber,
  secondsOf,
  wholeNumber,
} from '../command/option-values.ts';

/** The options of all commands that make or change a deployment. False with the `--no-` form of an option. */
export interface DeploymentSettings {
  readonly environment?: string;
  readonly gpus?: string;
  readonly label?: readonly string[] | false;
  readonly warmWait?: string;
  readonly keepPrepared?: string;
  readonly keepLoaded?: string;
  readonly concurrencyLimit?: string | false;
  readonly weight?: string;
  readonly strictInputs?: boolean;
  readonly runTimeout?: string;
  readonly startDeadline?: string;
  readonly minPriority?: string;
  readonly maxPriority?: string;
  readonly maxDelay?: string;
  readonly bounds?: boolean;
  readonly attempts?: string;
  readonly retryOn?: string | false;
  readonly ifNoOutput?: string;
  readonly logMask?: readonly string[] | false;
}

export const addDeploymentSettings = (command: Command): Command =>
  command
    .option('--environment <word>', 'any word, such as staging')
    .option(
      '--gpus <models>',
      'GPU models in order of preference, each with the time of waiting after which it may be taken, such as L4,A10G:60',
    )
    .option(
      '--label <label>',
      'one that executors of its runs must have, such as zone:eu-west-1; can be repeated',
      repeated,
    )
    .option('--warm-wait <time>', 'how long a run may wait for a busy slot that has its version loaded')
    .option('--keep-prepared <number>', 'on how many slots its code, packages and weights are kept ready')
    .option('--keep-loaded <number>', 'in how many free slots its process is kept loaded')
    .option('--concurrency-limit <number>', 'how many of its runs may execute at the same time')
    .option(
      '--weight <number>',
      'its part of the GPUs beside your other deployments, such as 2; 1 by default',
    )
    .option('--strict-inputs', 'refuse runs with inputs that the version does not define')
    .option('--no-strict-inputs', 'pass such inputs to the workflow, with a warning')
    .option(
      '--run-timeout <time>',
      'how long an attempt may execute, at most, such as 90 (seconds), 15m or 2h',
    )
    .option('--start-deadline <time>', 'how long a run may wait until it starts, at most')
    .option('--min-priority <number>', 'the lowest priority that a request may have, from -100 to 0')
    .option('--max-priority <number>', 'the highest priority that a request may have, from 0 to 100')
    .option('--max-delay <time>', 'by how long a request may delay its run')
    .option('--attempts <number>', 'the most attempts of a run; 3 by default')
    .option(
      '--retry-on <errors>',
      'kinds of errors after which a run has another attempt, such as crashed,out_of_memory',
    )
    .addOption(
      new Option(
        '--if-no-output <what>',
        'what a run becomes whose output nodes made nothing, or, with error, any run without an output; warn by default',
      ).choices(['warn', 'error', 'ignore']),
    )
    .option(
      '--log-mask <pattern>',
      'what logs and errors must not show, in the syntax of RE2; can be repeated',
      repeated,
    );

const repeated = (text: string, before?: readonly string[]): string[] => [...(before ?? []), text];

/** What takes a setting back. */
export const addRemovals = (command: Command): Command =>
  command
    .option('--no-gpu', "use the machine's GPU")
    .option('--no-label', 'ask for no labels')
    .option('--no-concurrency-limit', 'remove the limit')
    .option('--no-bounds', 'remove the bounds of requests')
    .option('--no-retry-on', 'another attempt only after an executor was lost')
    .option('--no-log-mask', 'mask nothing');

/** Members of a request. That of a missing option is undefined. */
export interface SettingMembers {
  readonly gpus: readonly GpuStep[] | undefined;
  readonly [member: string]: unknown;
}

/** @throws CommandError */
export const deploymentSettingsOf = (options: DeploymentSettings): SettingMembers => ({
  environment: options.environment,
  gpus: gpuModelsOf('--gpus', options.gpus),
  labels: options.label === false ? [] : options.label,
  warm_wait_s: secondsOf('--warm-wait', options.warmWait),
  keep_prepared: wholeNumber('--keep-prepared', options.keepPrepared),
  keep_loaded: wholeNumber('--keep-loaded', options.keepLoaded),
  concurrency_limit:
    options.concurrencyLimit === false ? null : wholeNumber('--concurrency-limit', options.concurrencyLimit),
  weight: decimalNumber('--weight', options.weight),
  strict_inputs: options.strictInputs,
  run_timeout_s: secondsOf('--run-timeout', options.runTimeout),
  start_deadline_s: secondsOf('--start-deadline', options.startDeadline),
  bounds: boundsOf(options),
  retry: retryOf(options),
  if_no_output: options.ifNoOutput,
  log_masks: options.logMask === false ? null : options.logMask,
});

/** Undefined when no option names one. */
const boundsOf = ({ bounds, minPriority, maxPriority, maxDelay }: DeploymentSettings) => {
  if (bounds === false) return null;
  if ([minPriority, maxPriority, maxDelay].every((bound) => bound === undefined)) return undefined;
  return {
    min_priority: decimalNumber('--min-priority', minPriority),
    max_priority: decimalNumber('--max-priority', maxPriority),
    max_delay_s: secondsOf('--max-delay', maxDelay),
  };
};

const retryOf = ({ attempts: most, retryOn }: DeploymentSettings) => {
  const attempts = wholeNumber('--attempts', most);
  const on = retryOn === false ? [] : retryOn?.split(',').map((kind) => kind.trim());
  return attempts === undefined && on === undefined ? undefined : { attempts, on };
};

/** The names of the members that a deployment would have otherwise. Members that are undefined do not change. */
export const changedSettings = (
  present: Deployment,
  asked: Readonly<Record<string, unknown>>,
): readonly string[] =>
  Object.entries(asked)
    .filter(([, value]) => value !== undefined)
    .map(([member, value]) => [member, asStored(present, member, value)] as const)
    .filter(([member, value]) => !isDeepStrictEqual(value, present[member as keyof Deployment]))
    .map(([member]) => member);

const asStored = ({ retry, bounds }: Deployment, member: string, value: unknown): unknown => {
  switch (member) {
    case 'gpu':
      return typeof value === 'string' ? value.toUpperCase() : value;
    case 'gpus':
      return inOrder((value ?? []) as GpuStep[]);
    case 'labels':
      return [...new Set(value as string[])];
    case 'retry':
      return { ...retry, ...definedIn(value) };
    case 'bounds':
      return { ...bounds, ...definedIn(value) };
    default:
      return value;
  }
};

const inOrder = (steps: readonly GpuStep[]): Deployment['gpus'] => {
  let after_s = 0;
  return steps.map((step) => {
    if (typeof step === 'string') return { gpu: gpuModel(step), after_s };
    ({ after_s } = step);
    return { gpu: gpuModel(step.gpu), after_s };
  });
};

/** The members that are there. */
export const definedIn = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(Object(value)).filter(([, member]) => member !== undefined));

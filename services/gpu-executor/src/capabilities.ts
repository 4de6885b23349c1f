import { silentLogger, type Logger } from '@runledger/event-log/connect/observability';
import {
  ConfigError,
  inspectConfig,
  problemsOf,
  type ConfigProblem,
  type Environment,
} from '@runledger/service-kit/config';
import { Type } from 'typebox';
import { configSchema, withoutNpmFolders } from './config.ts';
import { driverFolders } from './card-devices.ts';
import { detectGpus } from './nvidia-smi.ts';
import { slotsFromGpus, slotsFromSetting, type GpuSlot } from './gpu-slots.ts';
import { configureRunners, registeredBy, RUNNER_TYPES, settingsOf } from './runners/runner-registry.ts';
import type { ConfiguredRunner } from './runners/runner-type.ts';
import type { HostEnvironment } from './supervision/process-environment.ts';

/** What this executor can do: on which slots, with which runners. */
export interface ExecutorCapabilities {
  readonly slots: readonly GpuSlot[];
  readonly runners: readonly ConfiguredRunner[];
}

/** @throws {ConfigError} with everything that is wrong with the slots and the runners */
export const readCapabilities = async (
  config: { readonly EXECUTOR_GPUS?: string },
  host: HostEnvironment & {
    readonly CUDA_VISIBLE_DEVICES?: string | undefined;
    readonly LD_LIBRARY_PATH?: string | undefined;
  },
  log: Logger,
): Promise<ExecutorCapabilities> => {
  const { CUDA_VISIBLE_DEVICES, LD_LIBRARY_PATH } = host;
  const problems: ConfigProblem[] = [];
  let slots: readonly GpuSlot[] = [];
  if (config.EXECUTOR_GPUS === undefined) slots = await detectSlots(CUDA_VISIBLE_DEVICES, log);
  else {
    const read = slotsFromSetting(config.EXECUTOR_GPUS, CUDA_VISIBLE_DEVICES);
    if (read.ok) ({ slots } = read);
    else problems.push(read.problem);
  }
  slots = withLibraries(slots, driverFolders(LD_LIBRARY_PATH));
  const runners = await configureRunners(RUNNER_TYPES, { ...config }, { ...host, slots });
  if ('problems' in runners) throw new ConfigError([...problems, ...runners.problems]);
  if (problems.length > 0) throw new ConfigError(problems);
  if (registeredBy(runners).programs.length === 0) {
    const advice =
      'this executor has no program and no model server, and gets no runs; name what it may run in EXECUTOR_PROGRAMS, EXECUTOR_COG or ' +
      'EXECUTOR_COMFYUI, or whose code of versions in EXECUTOR_CODE, and in a container start an image that has it (examples/executor-images/README.md)';
    log.warn({}, advice);
  }
  return { slots, runners };
};

/** What is wrong with the slots and the runners of an environment, in which other settings may be wrong too. */
export const capabilityProblems = async (env: Environment): Promise<readonly ConfigProblem[]> => {
  const { EXECUTOR_GPUS, PATH, CUDA_VISIBLE_DEVICES } = configSchema.properties;
  const own = Type.Object({ EXECUTOR_GPUS, PATH, CUDA_VISIBLE_DEVICES, ...settingsOf(RUNNER_TYPES) });
  const { values, problems } = inspectConfig(own, withoutNpmFolders(env));
  // A runner cannot read its settings without those.
  if (problems.length > 0) return problems;
  const { EXECUTOR_GPUS: gpus, PATH: path, CUDA_VISIBLE_DEVICES: visible } = values;
  const config = { ...values, ...(gpus !== undefined && { EXECUTOR_GPUS: gpus }) };
  return problemsOf(() =>
    readCapabilities(config, { PATH: path, CUDA_VISIBLE_DEVICES: visible }, silentLogger),
  );
};

const withLibraries = (slots: readonly GpuSlot[], libraries: readonly string[]): readonly GpuSlot[] =>
  libraries.length === 0 ? slots : slots.map((slot) => (slot.device === '' ? slot : { ...slot, libraries }));

const detectSlots = async (visible: string | undefined, log: Logger): Promise<GpuSlot[]> => {
  const detection = await detectGpus();
  if (detection.kind === 'none') {
    const advice =
      'this executor has no slot and gets no runs; name slots in EXECUTOR_GPUS, such as CPU:2 for runs that use no card';
    log.warn({ why: detection.why }, advice);
    return [];
  }
  for (const line of detection.unreadable) log.warn({ line }, 'nvidia-smi printed an unexpected line');
  const { slots, unknown } = slotsFromGpus(detection.gpus, visible);
  for (const { index, name } of unknown)
    log.warn(
      { index, name },
      'nvidia-smi gives no usable name for this card; to use it, name all cards in EXECUTOR_GPUS',
    );
  return slots;
};

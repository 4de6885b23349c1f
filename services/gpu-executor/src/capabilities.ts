import { ConfigError, type ConfigProblem } from '@runledger/service-kit/config/config';
import { detectGpus } from './gpu/nvidia-smi.ts';
import { slotsFromGpus, slotsFromSetting, type GpuSlot } from './gpu/gpu-slots.ts';
import { readAllowList, type AllowList } from './runner/program/allow-list.ts';

/** What this executor can do: where, and with which programs. */
export interface ExecutorCapabilities {
  slots: GpuSlot[];
  programs: AllowList;
}

export interface CapabilitySettings {
  readonly EXECUTOR_GPUS?: string;
  readonly EXECUTOR_PROGRAMS: string;
  readonly PATH: string;
  readonly CUDA_VISIBLE_DEVICES?: string;
}

interface CapabilityLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** @throws {ConfigError} with everything that is wrong with the slots and the programs */
export const readCapabilities = async (
  settings: CapabilitySettings,
  log: CapabilityLog,
): Promise<ExecutorCapabilities> => {
  const { EXECUTOR_GPUS, EXECUTOR_PROGRAMS, PATH, CUDA_VISIBLE_DEVICES } = settings;
  const problems: ConfigProblem[] = [];
  let slots: GpuSlot[] = [];
  if (EXECUTOR_GPUS === undefined) slots = await detectSlots(CUDA_VISIBLE_DEVICES, log);
  else {
    const read = slotsFromSetting(EXECUTOR_GPUS, CUDA_VISIBLE_DEVICES);
    if (read.ok) ({ slots } = read);
    else problems.push(read.problem);
  }
  const list = await readAllowList(EXECUTOR_PROGRAMS, PATH);
  if (!list.ok) problems.push(...list.problems);
  if (!list.ok || problems.length > 0) throw new ConfigError(problems);
  if (list.programs.size === 0)
    log.warn({}, 'EXECUTOR_PROGRAMS names no program: every run that is assigned here will fail');
  return { slots, programs: list.programs };
};

const detectSlots = async (visible: string | undefined, log: CapabilityLog): Promise<GpuSlot[]> => {
  const detection = await detectGpus();
  if (detection.kind === 'none') {
    const advice =
      'no GPU is offered; name slots in EXECUTOR_GPUS, such as A10G:2, to offer some all the same';
    log.warn({ why: detection.why }, advice);
    return [];
  }
  for (const line of detection.unreadable) log.warn({ line }, 'nvidia-smi said something unexpected');
  const { slots, unknown } = slotsFromGpus(detection.gpus, visible);
  for (const { index, name } of unknown)
    log.warn(
      { index, name },
      'the API knows no such GPU model; name it in EXECUTOR_GPUS as one that it knows to offer it',
    );
  return slots;
};

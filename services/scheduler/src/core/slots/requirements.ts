import type { ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { RunRequest } from '@runledger/contracts/fold/run';
import { runnerKindOf, type RunnerChoice } from '@runledger/contracts/runners/runner-kinds';

/** What a run requires of an executor. Runs with equal requirements are served first come, first served. */
export interface Requirements {
  readonly gpu: GpuModel;
  readonly machine_id: string;
  readonly machine_name: string;
  readonly runner: RunnerChoice;
}

export const requirementsOf = ({ gpu, machine_id, machine_name, runner }: RunRequest): Requirements => ({
  gpu,
  machine_id,
  machine_name,
  runner,
});

/** Equal for equal requirements. */
export const requirementsKey = ({ gpu, machine_id, machine_name, runner }: Requirements): string =>
  JSON.stringify([gpu, machine_id, machine_name, runner.kind, runnerKindOf(runner).capability(runner)]);

/** What an executor registered that it can do, as sets for fast checks. */
export interface Capabilities {
  readonly gpus: ReadonlySet<GpuModel>;
  readonly machines: ReadonlySet<string>;
  readonly programs: ReadonlySet<string>;
}

export const capabilitiesOf = ({ slots, machines, programs }: ExecutorRegistered): Capabilities => ({
  gpus: new Set(slots.map(({ gpu }) => gpu)),
  machines: new Set(machines),
  programs: new Set(programs),
});

/** Equal for equal capabilities. */
export const capabilitiesKey = ({ gpus, machines, programs }: Capabilities): string =>
  JSON.stringify([gpus, machines, programs].map((names) => [...names].toSorted()));

/** Whether the executor can execute such a run, whether a slot is free or not. */
export const canServe = (capabilities: Capabilities, requirements: Requirements): boolean =>
  capabilities.gpus.has(requirements.gpu) &&
  servesMachine(capabilities, requirements) &&
  hasRunner(capabilities, requirements);

export const servesMachine = (
  { machines }: Capabilities,
  { machine_id, machine_name }: Requirements,
): boolean => machines.has('*') || machines.has(machine_id) || machines.has(machine_name);

const hasRunner = ({ programs }: Capabilities, { runner }: Requirements): boolean =>
  programs.has(runnerKindOf(runner).capability(runner));

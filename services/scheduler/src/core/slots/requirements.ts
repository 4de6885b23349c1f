import type { RunnerChoice } from '@runledger/contracts/events/run-event-data';
import type { ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { RunRequest } from '@runledger/contracts/fold/run';

/** What a run asks of an executor. Runs with the same demand are served first come first served. */
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

/** Equal for equal demands. */
export const requirementsKey = ({ gpu, machine_id, machine_name, runner }: Requirements): string =>
  JSON.stringify([
    gpu,
    machine_id,
    machine_name,
    runner.kind,
    runner.kind === 'program' ? runner.program : '',
  ]);

/** What an executor said that it can do, for quick questions. */
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

/** Whether the executor could ever take such a run, free slot or not. */
export const canServe = (offer: Capabilities, demand: Requirements): boolean =>
  offer.gpus.has(demand.gpu) && servesMachine(offer, demand) && offersRunner(offer.programs, demand.runner);

export const servesMachine = (
  { machines }: Capabilities,
  { machine_id, machine_name }: Requirements,
): boolean => machines.has('*') || machines.has(machine_id) || machines.has(machine_name);

/** Executors of this release run programs; none says that it has a ComfyUI server. */
const offersRunner = (programs: ReadonlySet<string>, runner: RunnerChoice): boolean =>
  runner.kind === 'program' && programs.has(runner.program);

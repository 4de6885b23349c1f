import type { Machine } from '@runledger/contracts/catalogue/records';
import { gpuModel } from '@runledger/contracts/gpu';
import { runnerKindOf, type Runner, type RunnerChoice } from '@runledger/contracts/catalogue/runners';
import type { Omitted, RecordOrigin } from './records.ts';

export interface MachineRequest {
  readonly name: string;
  readonly gpu: string;
  /** The kind of its runner when left out. */
  readonly type?: string | Omitted;
  readonly runner: Runner;
}

export interface MachineChange {
  readonly name?: string | Omitted;
  readonly gpu?: string | Omitted;
  readonly type?: string | Omitted;
  readonly runner?: Runner | Omitted;
  readonly archived?: boolean | Omitted;
}

export const newMachine = ({ name, gpu, type, runner }: MachineRequest, origin: RecordOrigin): Machine => ({
  ...origin,
  name,
  gpu: gpuModel(gpu),
  type: type ?? runner.kind,
  version: '1',
  runner: runnerOf(runner),
  archived: false,
});

/** Runs show the version of their machine. It rises with every change that matters to a run. */
export const changedMachine = (machine: Machine, change: MachineChange): Machine => {
  const changed: Machine = {
    ...machine,
    name: change.name ?? machine.name,
    gpu: change.gpu ? gpuModel(change.gpu) : machine.gpu,
    type: change.type ?? machine.type,
    runner: change.runner ? runnerOf(change.runner) : machine.runner,
    archived: change.archived ?? machine.archived,
  };
  const isSame =
    changed.gpu === machine.gpu &&
    changed.type === machine.type &&
    isSameRunner(changed.runner, machine.runner);
  return isSame ? changed : { ...changed, version: versionAfter(machine.version) };
};

const runnerOf = (requested: Runner): RunnerChoice => runnerKindOf(requested).choiceOf(requested);

const isSameRunner = (one: RunnerChoice, other: RunnerChoice): boolean =>
  JSON.stringify(runnerOf(one)) === JSON.stringify(runnerOf(other));

/** A version that is not a number was written by an operator. The next one is 2. */
const versionAfter = (version: string): string =>
  /^\d{1,15}$/.test(version) ? String(Number(version) + 1) : '2';

import type { Run } from '@runledger/contracts/fold/run';
import { gpuModel } from '@runledger/contracts/gpu';
import {
  canServe,
  requirementsKey,
  requirementsOf,
  type Requirements,
} from '@runledger/scheduler/core/requirements';
import type { CapturedDay } from './captured-day.ts';
import type { ExecutorLifetime } from './fleet-of-day.ts';

/**
 * What runs of a day need of an executor beside its GPU: machine, program and labels. A plan has labels only, so each such need that some
 * executor of the day lacks is a label of the plan, and executors have the labels of what they can execute.
 */
export interface Needs {
  readonly ofRun: (run: Run) => readonly string[];
  readonly servedBy: (executor: ExecutorLifetime) => readonly string[];
  /** Of an executor that can execute everything. */
  readonly all: readonly string[];
}

export const needsOf = ({ runs, fleet }: Pick<CapturedDay, 'runs' | 'fleet'>): Needs => {
  const known = new Map<string, Requirements>();
  const nameOf = (run: Run): string => {
    const requirements = { ...requirementsOf(run), gpu: ANY, later: [] };
    const key = requirementsKey(requirements);
    if (!known.has(key)) known.set(key, requirements);
    return key;
  };
  const names = new Map(runs.map((run) => [run.run_id, nameOf(run)] as const));
  const labels = new Map<string, string>();
  for (const [key, requirements] of known) {
    if (!fleet.executors.every((executor) => serves(executor, requirements)))
      labels.set(key, `need-${labels.size}`);
  }
  const labelOf = (key: string): string[] => {
    const label = labels.get(key);
    return label === undefined ? [] : [label];
  };
  return {
    ofRun: ({ run_id }) => labelOf(names.get(run_id) ?? ''),
    servedBy: (executor) =>
      [...known].flatMap(([key, requirements]) => (serves(executor, requirements) ? labelOf(key) : [])),
    all: [...labels.values()],
  };
};

/** The GPU is another matter: lists of models are played as they are. */
const ANY = gpuModel('ANY');

const serves = ({ capabilities }: ExecutorLifetime, requirements: Requirements): boolean =>
  canServe({ ...capabilities, gpus: new Set([ANY]) }, requirements);

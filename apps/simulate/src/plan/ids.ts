import { executorId, orgId, runId, type ExecutorId, type OrgId, type RunId } from '@runledger/contracts/ids';
import type { PlannedExecutor } from './plan.ts';

/** Ids that say what they are of, and their number. */

const uuid = (kind: number, n: number): string =>
  `01920000-0000-7${kind.toString(16).padStart(3, '0')}-8000-${n.toString(16).padStart(12, '0')}`;

const numberIn = (id: string): number => Number.parseInt(id.slice(-12), 16);

export const orgIdOf = (organisation: number): OrgId => orgId(uuid(1, organisation));
export const deploymentIdOf = (deployment: number): string => uuid(2, deployment);
export const runIdOf = (run: number): RunId => runId(uuid(3, run));
export const eventIdOf = (event: number): string => uuid(4, event);
export const OPERATOR = uuid(5, 1);
export const versionIdOf = (version: number): string => uuid(6, version);

/** Of its process. */
export const executorNameOf = (process: string): string => process.replace(' ', '-');

/** Each start of an executor is another executor of the same name. */
export const executorIdOf = (process: string, start: number): ExecutorId =>
  executorId(`${executorNameOf(process)}.${start.toString(16).padStart(12, '0')}`);

export const organisationOf = numberIn;
export const deploymentOf = numberIn;
export const runOf = numberIn;

const SLOTS_OF_ONE = 8;

/** Executors for so many slots, at most eight on each. */
export const executorsOf = (slots: number, gpu: string): PlannedExecutor[] =>
  Array.from({ length: Math.ceil(slots / SLOTS_OF_ONE) }, (_, n) => ({
    slots: Array.from({ length: Math.min(SLOTS_OF_ONE, slots - n * SLOTS_OF_ONE) }, () => gpu),
  }));

import type { RunnerWork } from '../../../runners/runner.ts';

/** Its own for each attempt, so that nobody else is told of it. A later process of this executor knows whose it was. */
export const newClientId = (executorName: string, work: Pick<RunnerWork, 'run_id' | 'attempt'>): string =>
  `${prefixOf(executorName)}${work.run_id}-${work.attempt}`;

export const isClientOf = (executorName: string, clientId: string): boolean =>
  clientId.startsWith(prefixOf(executorName));

/** A name has no point. */
const prefixOf = (executorName: string): string => `runledger.${executorName}.`;

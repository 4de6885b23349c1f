import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** A run's key as one text, for maps. */
export type RunName = `${string}/${string}`;

export const runName = ({ org_id, run_id }: RunKey): RunName => `${org_id}/${run_id}`;

export const runIdOf = (name: RunName): string => name.slice(name.indexOf('/') + 1);

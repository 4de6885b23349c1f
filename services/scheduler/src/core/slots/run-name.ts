import type { OrgId, RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** A run's key as one text, for maps. */
export type RunName = `${string}/${string}`;

export const runName = ({ org_id, run_id }: RunKey): RunName => `${org_id}/${run_id}`;

export const runIdOf = (name: RunName): RunId => name.slice(name.indexOf('/') + 1) as RunId;

export const keyOfName = (name: RunName): RunKey => ({
  org_id: name.slice(0, name.indexOf('/')) as OrgId,
  run_id: runIdOf(name),
});

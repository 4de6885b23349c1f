import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** The key of a run in maps. Its id alone is only unique within its organisation. */
export const runName = ({ org_id, run_id }: RunKey): string => `${org_id}.${run_id}`;

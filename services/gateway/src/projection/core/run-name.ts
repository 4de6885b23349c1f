import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** A run as a key of maps: its id alone is one within its organisation only. */
export const runName = ({ org_id, run_id }: RunKey): string => `${org_id}.${run_id}`;

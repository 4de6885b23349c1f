import { Uuid } from '@runledger/contracts/http/fields/values';
import { runId, type OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { Type } from 'typebox';

/** The parameters of a path that names a run. */
export const RunPath = Type.Object({ run_id: Uuid });

/** The run that a path names, as one of the caller's organisation. */
export const runKeyOf = (
  { run_id }: { readonly run_id: string },
  { org_id }: { readonly org_id: OrgId },
): RunKey => ({ org_id, run_id: runId(run_id) });

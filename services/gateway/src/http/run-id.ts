import { isRunId, type OrgId, type RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects';
import type { Context } from 'koa';
import { invalid, Refused, type Invalid } from './problem.ts';
import { NOT_A_UUID } from './queue-request.ts';

export type ReadRunId = { readonly id: RunId } | { readonly problem: Invalid };

/** The run that a path names. */
export const readRunId = (text: string | undefined): ReadRunId => {
  const id = (text ?? '').toLowerCase();
  return isRunId(id) ? { id } : { problem: invalid(['path', 'run_id'], 'uuid_parsing', NOT_A_UUID) };
};

/** The run that the path of the request names, as one of the organisation; refuses what is no run id. */
export const runKeyOf = (ctx: Context, org_id: OrgId): RunKey => {
  // The router puts it there; `params` of its types is open.
  const path = readRunId(String(ctx['params']?.run_id));
  if ('problem' in path) throw new Refused({ kind: 'invalid', problems: [path.problem] });
  return { org_id, run_id: path.id };
};

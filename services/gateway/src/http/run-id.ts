import { isRunId, type RunId } from '@runledger/contracts/ids';
import { invalid, type Invalid } from './problem.ts';
import { NOT_A_UUID } from './queue-request.ts';

export type ReadRunId = { readonly id: RunId } | { readonly problem: Invalid };

/** The run that a path names. */
export const readRunId = (text: string | undefined): ReadRunId => {
  const id = (text ?? '').toLowerCase();
  return isRunId(id) ? { id } : { problem: invalid(['path', 'run_id'], 'uuid_parsing', NOT_A_UUID) };
};

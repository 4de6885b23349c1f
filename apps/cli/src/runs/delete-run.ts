import {
  DeleteOutputsResponse,
  DeleteRunResponse,
  Tombstone,
} from '@runledger/contracts/http/runs/delete-run';
import { at } from '../api-client/api-call.ts';
import type { Client } from '../api-client/client.ts';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { printRows } from '../output/table.ts';

export interface DeleteOptions {
  readonly outputs?: boolean;
  readonly json?: boolean;
}

/** Deletes a run that has ended, or only its outputs. */
export const deleteRun = async (
  { call, screen }: Client,
  run: string,
  { outputs = false, json = false }: DeleteOptions,
): Promise<ExitCode> => {
  const answer = outputs
    ? await call(DeleteOutputsResponse, { method: 'DELETE', path: at`/run/${run}/outputs` })
    : await call(DeleteRunResponse, { method: 'DELETE', path: at`/run/${run}` });
  if (json) screen.printJson(answer);
  else if (answer.outcome === 'already_deleted')
    screen.print(`The outputs of run ${answer.run_id} were deleted before. Nothing was changed.`);
  else
    screen.print(
      outputs ? `The outputs of run ${answer.run_id} are deleted.` : `Run ${answer.run_id} is deleted.`,
    );
  return EXIT.done;
};

/** Shows what the deletion of a run erased, when, and by whom. */
export const tombstone = async ({ call, screen }: Client, run: string, json: boolean): Promise<ExitCode> => {
  const found = await call(Tombstone, { method: 'GET', path: at`/run/${run}/tombstone` });
  if (json) {
    screen.printJson(found);
    return EXIT.done;
  }
  const { deleted_by, erases } = found;
  printRows(screen, [
    ['run', found.run_id],
    ['queued', found.created_at, 'time'],
    ['deleted', found.deleted_at, 'time'],
    ['by user', deleted_by.user_id],
    ['with key', deleted_by.key_id],
    ['state', found.state === 'erased' ? 'erased' : 'being erased'],
    ['output files', `${erases.files}, ${erases.file_bytes} bytes`],
    ['stored inputs', `${erases.inputs_bytes} bytes`],
    ['stored list of outputs', `${erases.outputs_bytes} bytes`],
    ['stored log', `${erases.log_bytes} bytes`],
  ]);
  return EXIT.done;
};

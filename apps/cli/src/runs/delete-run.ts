import type { Client } from '../api-client/client.ts';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';

export interface DeleteOptions {
  readonly outputs?: boolean;
  readonly json?: boolean;
}

/** Deletes a run that has ended, or only its outputs. */
export const deleteRun = async (
  { api, screen }: Client,
  run: string,
  { outputs = false, json = false }: DeleteOptions,
): Promise<ExitCode> => {
  const answer = outputs ? await api.deleteOutputs(run) : await api.delete(run);
  if (json) screen.printJson(answer);
  else if (answer.outcome === 'already_deleted')
    screen.print(`The outputs of run ${answer.run_id} were deleted before. Nothing was changed.`);
  else
    screen.print(
      outputs ? `The outputs of run ${answer.run_id} are deleted.` : `Run ${answer.run_id} is deleted.`,
    );
  return EXIT.done;
};

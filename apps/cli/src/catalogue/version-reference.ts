import { isUuid } from '@runledger/contracts/ids';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import type { SingleRecords } from './records.ts';
import { versionsOf } from './workflow-versions.ts';
import { workflows } from './workflows.ts';

/** What stands for a version where its workflow is not known: its id, or `portrait@3` for version 3 of a workflow. */
export const versionReference: Pick<SingleRecords<unknown>, 'idOf'> = {
  idOf: async (call, given) => {
    if (isUuid(given)) return given;
    const at = given.lastIndexOf('@');
    if (at < 1)
      throw new CommandError(
        `--version ${plain(given)} is neither the id of a version nor a workflow with a number, such as portrait@3.`,
      );
    const workflow = await workflows.idOf(call, given.slice(0, at));
    return versionsOf(workflow).idOf(call, given.slice(at + 1));
  },
};

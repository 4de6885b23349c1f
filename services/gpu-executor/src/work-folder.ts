import { mkdir, realpath } from 'node:fs/promises';
import { ownMark, type Mark } from './program/process-mark.ts';
import { killOrphans } from './program/stray-processes.ts';
import { clearWorkFolder } from './attempt-folder.ts';

export type WorkFolder = { path: string; mark: Mark };

/** Opens the folder of this executor and ends what one before it left running or lying there. */
export const openWorkFolder = async (
  folder: string,
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void },
): Promise<WorkFolder> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = await realpath(folder);
  const mark = await ownMark(path);
  const { killed, survivors } = await killOrphans(mark);
  if (killed.length > 0)
    log.warn({ killed }, 'an executor that was killed left processes behind; they are killed');
  if (survivors.length > 0)
    log.warn({ survivors }, 'processes of an executor that was killed do not die; their devices may be busy');
  const cleared = await clearWorkFolder(path);
  if (cleared > 0) log.info({ folders: cleared }, 'folders of attempts that are over are removed');
  return { path, mark };
};

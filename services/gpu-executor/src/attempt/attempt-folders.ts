import { randomUUID } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../leftovers/remove-tree.ts';

/** The folders of one attempt. Most attempts need none, so each is made when something is to be put into it. */
export interface AttemptFolders extends AsyncDisposable {
  readonly inputDir: string;
  readonly outputDir: string;
  /** Makes the folder for the files of the inputs. */
  readonly makeInputDir: () => Promise<string>;
  /** Makes a folder that the workflow does not know: for input files on their way, and texts that become files. */
  readonly makePrivateDir: () => Promise<string>;
}

const ATTEMPT_PREFIX = 'attempt-';

interface WarningLog {
  warn(fields: object, message: string): void;
}

/**
 * Folders for one attempt, readable by the executor's user only. Removed when the attempt is over. No name is used twice, so that a process
 * which outlives its run cannot write into the folders of another one.
 */
export const openAttemptFolders = (workFolder: string, log: WarningLog): AttemptFolders => {
  const name = join(workFolder, `${ATTEMPT_PREFIX}${randomUUID()}`);
  const [inputDir, outputDir, privateDir] = [`${name}-inputs`, `${name}-outputs`, `${name}-private`];
  // A runner makes the folder of the outputs.
  const mayBeThere = new Set([outputDir]);
  const make = async (folder: string): Promise<string> => {
    mayBeThere.add(folder);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  };
  return {
    inputDir,
    outputDir,
    makeInputDir: () => make(inputDir),
    makePrivateDir: () => make(privateDir),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...mayBeThere].map((folder) => removeTree(folder, log)));
    },
  };
};

/** Removes the folders that attempts of a killed executor left behind. Call it when their processes have ended. */
export const clearWorkFolder = async (workFolder: string, log: WarningLog): Promise<number> => {
  const left = (await readdir(workFolder)).filter(
    (name) => name.startsWith(ATTEMPT_PREFIX) || name.startsWith('tmp-'),
  );
  for (const name of left) await removeTree(join(workFolder, name), log);
  return left.length;
};

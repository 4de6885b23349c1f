import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface AttemptFolders extends AsyncDisposable {
  readonly inputDir: string;
  readonly outputDir: string;
  /** Resolves with null when these two exist, or with why they do not. */
  readonly made: Promise<unknown>;
  /** Makes a folder that the workflow does not know: for input files on their way, and texts that become files. Few runs need it. */
  readonly makePrivateDir: () => Promise<string>;
}

const ATTEMPT_PREFIX = 'attempt-';

/**
 * New folders for one attempt, readable by the executor's user only. Removed when the attempt is over. No name is used twice, so that a process
 * which outlives its run cannot write into the folders of another one.
 */
export const openAttemptFolders = (workFolder: string): AttemptFolders => {
  const name = join(workFolder, `${ATTEMPT_PREFIX}${randomUUID()}`);
  const [inputDir, outputDir, privateDir] = [`${name}-inputs`, `${name}-outputs`, `${name}-private`];
  const folders = new Set([inputDir, outputDir]);
  const made = Promise.all([...folders].map((folder) => mkdir(folder, { mode: 0o700 }))).then(
    () => null,
    (error: unknown) => error,
  );
  return {
    inputDir,
    outputDir,
    made,
    makePrivateDir: async () => {
      await made;
      folders.add(privateDir);
      await mkdir(privateDir, { recursive: true, mode: 0o700 });
      return privateDir;
    },
    [Symbol.asyncDispose]: async () => {
      await made;
      await Promise.all([...folders].map(remove));
    },
  };
};

/** As a rule it is empty, or the runner has removed it: then nothing has to be looked at. */
const remove = async (folder: string): Promise<void> => {
  try {
    await rmdir(folder);
  } catch (error) {
    const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isGone) await rm(folder, { recursive: true, force: true });
  }
};

/** Removes the folders that attempts of a killed executor left behind. Call it when their processes have ended. */
export const clearWorkFolder = async (workFolder: string): Promise<number> => {
  const left = (await readdir(workFolder)).filter(
    (name) => name.startsWith(ATTEMPT_PREFIX) || name.startsWith('tmp-'),
  );
  for (const name of left) await rm(join(workFolder, name), { recursive: true, force: true });
  return left.length;
};

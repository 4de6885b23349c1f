import { mkdir, mkdtemp, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface AttemptFolder extends AsyncDisposable {
  readonly inputDir: string;
  /** For input files on their way. Made by what needs it, since few runs do. */
  readonly incomingDir: string;
  readonly outputDir: string;
  /** For text outputs that become files. Made by what needs it. */
  readonly textDir: string;
}

const ATTEMPT_PREFIX = 'attempt-';

/** New folders for one attempt, readable by the executor's user only. Removed when the attempt is over. */
export const openAttemptFolder = async (workFolder: string): Promise<AttemptFolder> => {
  const folder = await mkdtemp(join(workFolder, ATTEMPT_PREFIX));
  const inputDir = join(folder, 'inputs');
  const incomingDir = join(folder, 'incoming');
  const outputDir = join(folder, 'outputs');
  const textDir = join(folder, 'texts');
  await Promise.all([inputDir, outputDir].map((path) => mkdir(path, { mode: 0o700 })));
  return {
    inputDir,
    incomingDir,
    outputDir,
    textDir,
    [Symbol.asyncDispose]: () => remove(folder, [inputDir, outputDir]),
  };
};

/** As a rule only the folders made at its opening are in it, and they are empty: then nothing has to be looked at. */
const remove = async (folder: string, inside: readonly string[]): Promise<void> => {
  try {
    for (const path of [...inside, folder]) await rmdir(path);
  } catch {
    await rm(folder, { recursive: true, force: true });
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

import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { giveTo, type User } from '../isolation/run-as.ts';
import { changeMode } from '../leftovers/open-folder.ts';

export interface RunFolders {
  readonly inputDir: string;
  readonly outputDir: string;
}

export interface LentFolders {
  /** Where the run has them meanwhile. */
  readonly folders: RunFolders;
  /** Puts them where they were. To be called when the run is over; once more does nothing. */
  takeBack(): Promise<void>;
}

/** Moves the folders of a run to the place of its process, which sees no other folder of a run, and gives them to its user. */
export const lendFolders = async (
  { inputDir, outputDir }: RunFolders,
  place: string,
  user: User | null,
): Promise<LentFolders> => {
  if (user !== null) for (const folder of [inputDir, outputDir]) giveTo(user, folder);
  const lent = { inputDir: join(place, basename(inputDir)), outputDir: join(place, basename(outputDir)) };
  await rename(inputDir, lent.inputDir);
  try {
    await rename(outputDir, lent.outputDir);
  } catch (error) {
    await rename(lent.inputDir, inputDir);
    throw error;
  }
  let back: Promise<void> | null = null;
  const putBack = async (): Promise<void> => {
    await moveBack(place, lent.inputDir, inputDir);
    await moveBack(place, lent.outputDir, outputDir);
  };
  return { folders: lent, takeBack: () => (back ??= putBack()) };
};

/** A program may remove what it is lent, and take the permissions that a move needs. */
const moveBack = async (place: string, from: string, to: string): Promise<void> => {
  const refusal = await rename(from, to).then(() => null, codeOf);
  if (refusal === null || refusal === 'ENOENT') return;
  await changeMode(place, 0o700);
  const mode = await changeMode(from, 0o700);
  await rename(from, to);
  await changeMode(to, mode);
};

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : error);

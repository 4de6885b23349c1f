import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { codeOf } from '@runledger/resilience/errors';
import { giveTo, type User } from '../isolation/users.ts';
import { whatIsAt, changeMode } from './remove-tree.ts';

/** Where the folders of a run are when its program does not have them. */
interface RunFolders {
  /** It exists when it has files. */
  readonly inputDir: string;
  /** It exists when the program has left something in it. */
  readonly outputDir: string;
}

export interface LentFolders {
  /** Where the run has them meanwhile. */
  readonly folders: RunFolders;
  /** Takes them from the program, with what is in them. Once more does nothing. True when there is an output folder then. */
  takeBack(): Promise<boolean>;
}

/** The folders that runs have in one place, one run after the other. */
export interface Lender {
  /** `makesOutputDir`: the program makes its output folder when it has something for it. */
  lend(folders: RunFolders, makesOutputDir?: boolean): Promise<LentFolders>;
  /** No program is there any more: takes back what is lent, and leaves nothing. */
  end(): Promise<void>;
}

/**
 * Gives runs their folders in the place of their process, which sees no other folder of a run. An output folder is new for each run: who
 * still has that of an earlier one open, as a descriptor or as where it is, can put nothing into this one. Most runs use neither folder, so
 * little is done for these: what is empty is removed while the run goes on to its end, and runs without files have one input folder, which
 * none may write, as long as it is empty.
 */
export const openLender = (place: string, user: User | null): Lender => {
  let loan: LentFolders | null = null;
  let noInputs: string | null = null;
  /** What is empty of the last loan. */
  let removed: Promise<unknown> = Promise.resolve();

  const withoutInputs = async (): Promise<string> => {
    if (noInputs === null || whatIsAt(noInputs) !== 'empty_folder') {
      noInputs = join(place, `no-inputs-${randomUUID()}`);
      await mkdir(noInputs, { mode: 0o555 });
    }
    return noInputs;
  };
  const withInputs = async (inputDir: string): Promise<string> => {
    const inPlace = join(place, basename(inputDir));
    if (user !== null) giveTo(user, inputDir);
    await rename(inputDir, inPlace);
    return inPlace;
  };
  const makeOutputDir = async (path: string): Promise<void> => {
    await mkdir(path, { mode: 0o700 });
    if (user !== null) giveTo(user, path);
  };
  const takeOutputs = async (from: string, to: string): Promise<boolean> => {
    const found = whatIsAt(from);
    if (found === 'nothing') return false;
    if (found === 'other') return moveBack(place, from, to);
    // What comes into it meanwhile stays in the place, and is no output.
    removed = rmdir(from).catch(() => undefined);
    return false;
  };

  return {
    lend: async ({ inputDir, outputDir }, makesOutputDir = false) => {
      await removed;
      // What follows waits for the file system. The message of the caller that the run begins is written to its socket before.
      await nextTurn();
      const hasInputs = existsSync(inputDir);
      const lentOutputs = join(place, basename(outputDir));
      const [lentInputs] = await Promise.all([
        hasInputs ? withInputs(inputDir) : withoutInputs(),
        makesOutputDir ? null : makeOutputDir(lentOutputs),
      ]);
      const takeAll = async (): Promise<boolean> => {
        const hasOutputs = await takeOutputs(lentOutputs, outputDir);
        if (hasInputs) await moveBack(place, lentInputs, inputDir);
        return hasOutputs;
      };
      let taken: Promise<boolean> | null = null;
      loan = {
        folders: { inputDir: lentInputs, outputDir: lentOutputs },
        takeBack: () => (taken ??= takeAll()),
      };
      return loan;
    },
    end: async () => {
      await loan?.takeBack();
      await removed;
      if (noInputs !== null) await rmdir(noInputs).catch(() => undefined);
    },
  };
};

/** False when there is nothing. A program may remove what it is lent, and take the permissions that a move needs. */
const moveBack = async (place: string, from: string, to: string): Promise<boolean> => {
  const refusal = await rename(from, to).then(() => null, codeOf);
  if (refusal === null) return true;
  if (refusal === 'ENOENT') return false;
  await changeMode(place, 0o700);
  const mode = await changeMode(from, 0o700);
  await rename(from, to);
  await changeMode(to, mode);
  return true;
};

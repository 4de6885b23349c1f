import type { Logger } from '@runledger/event-log/connect/observability';
import { chmod, mkdir, open, readFile, realpath, stat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { ConfigError } from '@runledger/service-kit/config';
import { randomUUID } from 'node:crypto';
import {
  formatMark,
  ownMark,
  parseMark,
  type Mark,
  isAlive,
  killOrphans,
} from '../supervision/stray-processes.ts';
import { describeIsolation, isInNamespace, type Isolation } from '../isolation/isolation.ts';
import { closedFolderAbove } from '../view/real-paths.ts';
import { ownUser, type Users } from '../isolation/users.ts';
import { removeTree } from './remove-tree.ts';

export interface WorkFolder {
  readonly path: string;
  readonly mark: Mark;
}

/**
 * Takes the folder for this executor, and removes the processes and folders that an earlier executor left behind.
 * @throws when another executor uses it, or it belongs to another user
 */
export const openWorkFolder = async (
  folder: string,
  log: Logger,
  users: Users = ownUser,
): Promise<WorkFolder> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = await realpath(folder);
  const { uid } = await stat(path);
  if (uid !== getuid?.())
    throw new Error(
      `EXECUTOR_WORK_DIR ${path} belongs to user ${uid}, who could change what runs leave in it. ` +
        'Give the executor a folder of its own user.',
    );
  const mark = await ownMark(path);
  // Another user reaches the folders that it is given, and cannot list what else there is.
  await chmod(path, users.kind === 'executor' ? 0o700 : 0o711);
  await takeOver(path, mark, log);
  const { killed, survivors } = await killOrphans(mark);
  if (killed.length > 0) log.warn({ killed }, 'a killed executor left processes behind; they are killed');
  if (survivors.length > 0)
    log.warn({ survivors }, 'processes of a killed executor cannot be killed; their devices may be busy');
  const cleared = await clearWorkFolder(path, log);
  if (cleared > 0) log.info({ folders: cleared }, 'folders of ended attempts are removed');
  return { path, mark };
};

/**
 * Programs of another user must get to their folders, where they see those of the machine.
 * @throws {ConfigError} when a folder above is closed to them
 */
export const mustBeReached = (path: string, isolation: Isolation): void => {
  if (isolation.users.kind === 'executor' || isInNamespace(isolation)) return;
  const closed = closedFolderAbove(path);
  if (closed === null) return;
  throw new ConfigError([
    {
      variable: 'EXECUTOR_WORK_DIR',
      wrong: `= ${JSON.stringify(path)} cannot be reached by programs, which are of another user than root: ${closed} is closed to them, and nothing else can be mounted for them (${describeIsolation(isolation)})`,
      right: 'a folder below folders that everybody may enter, such as /var/lib/runledger-executor',
    },
  ]);
};

/** Another executor has it. */
export class WorkFolderInUse extends Error {
  override readonly name = 'WorkFolderInUse';
}

/** Two executors in one folder would remove each other's files. */
const takeOver = async (path: string, mark: Mark, log: Logger): Promise<void> => {
  const file = join(path, 'owner');
  const owner = parseMark(await readFile(file, 'utf8').catch(() => ''));
  if (owner !== null && owner.pid !== process.pid && (await isAlive(owner)))
    throw new WorkFolderInUse(
      `EXECUTOR_WORK_DIR ${path} is in use by another executor (process ${owner.pid}). ` +
        'Give each executor a folder of its own, or stop that one.',
    );
  await removeTree(file, log);
  // Of two executors that start at once, only one creates the file.
  await using taken = await open(file, 'wx', 0o600);
  await taken.writeFile(formatMark(mark));
};

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

/**
 * Folders for one attempt, readable by the executor's user only. Removed when the attempt is over. No name is used twice, so that a process
 * which outlives its run cannot write into the folders of another one.
 */
export const openAttemptFolders = (workFolder: string, log: Logger): AttemptFolders => {
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
export const clearWorkFolder = async (workFolder: string, log: Logger): Promise<number> => {
  const left = (await readdir(workFolder)).filter(
    (name) => name.startsWith(ATTEMPT_PREFIX) || name.startsWith('tmp-'),
  );
  for (const name of left) await removeTree(join(workFolder, name), log);
  return left.length;
};

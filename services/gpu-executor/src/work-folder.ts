import { chmod, mkdir, open, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { formatMark, ownMark, parseMark, type Mark } from './supervision/process-mark.ts';
import { isAlive, killOrphans } from './supervision/stray-processes.ts';
import { clearWorkFolder } from './attempt/attempt-folders.ts';
import { ConfigError } from '@runledger/service-kit/config/config';
import { describeIsolation, isInNamespace, type Isolation } from './isolation/isolation.ts';
import { closedFolderAbove } from './paths/real-paths.ts';
import { ownUser, type Users } from './isolation/users.ts';
import { removeTree } from './leftovers/remove-tree.ts';

export interface WorkFolder {
  readonly path: string;
  readonly mark: Mark;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/**
 * Takes the folder for this executor, and removes the processes and folders that an earlier executor left behind.
 * @throws when another executor uses it, or it belongs to another user
 */
export const openWorkFolder = async (
  folder: string,
  log: Log,
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

/** Two executors in one folder would remove each other's files. */
const takeOver = async (path: string, mark: Mark, log: Log): Promise<void> => {
  const file = join(path, 'owner');
  const owner = parseMark(await readFile(file, 'utf8').catch(() => ''));
  if (owner !== null && owner.pid !== process.pid && (await isAlive(owner)))
    throw new Error(
      `EXECUTOR_WORK_DIR ${path} is in use by another executor (process ${owner.pid}). ` +
        'Give each executor a folder of its own, or stop that one.',
    );
  await removeTree(file, log);
  // Of two executors that start at once, only one creates the file.
  await using taken = await open(file, 'wx', 0o600);
  await taken.writeFile(formatMark(mark));
};

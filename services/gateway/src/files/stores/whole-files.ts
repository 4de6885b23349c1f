import { randomUUID } from 'node:crypto';
import { access, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ConfigError } from '@runledger/service-kit/config';
import { codeOf } from '@runledger/resilience/errors';

/** `user`: the setting by which the directory is needed. @throws {ConfigError} without one */
export const directoryOf = (
  directory: string | undefined,
  user: 'RUNLEDGER_OUTPUTS' | 'RUNLEDGER_ARCHIVE',
): string => {
  if (directory !== undefined) return directory;
  const wrong = `is not set, and ${user} is "directory"`;
  throw new ConfigError([{ variable: `${user}_DIRECTORY`, wrong, right: 'an existing directory' }]);
};

/** Of a directory with files: has what is being written. */
const INCOMING = 'incoming';
/** Nobody writes for longer: a request may last an hour. */
const WRITTEN_WITHIN_MS = 24 * 3_600_000;

/**
 * Makes a file, or a folder with files, appear below the root as a whole, by one rename: whatever is killed, it exists completely or not at
 * all. A file replaces the former one. `write` makes it at the path that it is given.
 */
export const placeWhole = async <Result>(
  root: string,
  path: readonly string[],
  write: (incoming: string) => Promise<Result>,
): Promise<Result> => {
  const placed = join(root, ...path);
  const incoming = join(root, INCOMING, `${basename(placed)}.${randomUUID()}`);
  try {
    await makeFolder(join(root, INCOMING));
    const written = await write(incoming);
    for (let depth = 1; depth < path.length; depth += 1)
      await makeFolder(join(root, ...path.slice(0, depth)));
    await rename(incoming, placed);
    await flushFolder(dirname(placed));
    return written;
  } catch (error) {
    await rm(incoming, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
};

/** Creates no parents: when the root is missing, the mount may be missing. */
const makeFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
};

/** A rename survives a loss of power only once its folder is on the disk. */
const flushFolder = async (path: string): Promise<void> => {
  await using folder = await open(path, 'r');
  await folder.sync();
};

const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

/** `absent` for what does not exist; another gateway may have removed it. While the root is missing, nothing says that. */
export const orAbsent = async <Found, Absent>(
  root: string,
  absent: Absent,
  work: () => Promise<Found>,
): Promise<Found | Absent> => {
  try {
    return await work();
  } catch (error) {
    if (!ABSENT.has(codeOf(error))) throw error;
    await access(root);
    return absent;
  }
};

/** What a folder below the root has. */
export const namesIn = (root: string, ...path: readonly string[]): Promise<readonly string[]> =>
  orAbsent(root, [], () => readdir(join(root, ...path)));

/** When a file below the root was written last, in milliseconds since 1970; undefined when it does not exist. */
export const writtenAt = (root: string, ...path: readonly string[]): Promise<number | undefined> =>
  orAbsent(root, undefined, async () => (await stat(join(root, ...path))).mtimeMs);

/** Removes from a folder below the root what was written before `time`: it, or the file `dated` in it. */
export const removeOlder = async (root: string, folder: string, time: number, dated = '.'): Promise<void> => {
  for (const name of await namesIn(root, folder)) {
    const written = await writtenAt(root, folder, name, dated);
    if (written !== undefined && written < time)
      await rm(join(root, folder, name), { recursive: true, force: true });
  }
};

/** Removes what killed gateways were writing. */
export const removeIncomplete = (root: string, present: number): Promise<void> =>
  removeOlder(root, INCOMING, present - WRITTEN_WITHIN_MS);

import { constants, type Dirent } from 'node:fs';
import { open, opendir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { problemOfFileName } from '@runledger/contracts/file-name';
import type { OutputFile } from './runner.ts';

export interface CollectedFiles {
  readonly files: OutputFile[];
  /** The first few entries that are not outputs, with the reason. */
  readonly skipped: LeftEntry[];
  /** The first entry that should be an output and cannot be read. */
  unreadable: LeftEntry | null;
  /** True when there is more than the limits allow. */
  tooMany: boolean;
}

export interface LeftEntry {
  /** Below the folder; empty for the folder itself. */
  readonly path: string;
  readonly why: string;
}

export interface FileLimits {
  files: number;
  entries: number;
  depth: number;
}

/** Each file takes a few hundred bytes in the list of outputs, which may have 256 KiB. */
export const FILE_LIMITS: FileLimits = { files: 500, entries: 10_000, depth: 16 };
const MAX_SKIPPED_REPORTED = 20;

const OPEN_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** How an output is opened: not through a link, and without waiting for the other end of a pipe. */
export const OPEN_OUTPUT = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The regular files below a folder, sorted by path. A program that is still alive may change the folder meanwhile: so each
 * folder is opened once, no link is followed anywhere, not even in place of the folder itself, and each file is known by its identity.
 */
export const collectFiles = async (root: string, limits: FileLimits): Promise<CollectedFiles> => {
  const found: CollectedFiles = { files: [], skipped: [], unreadable: null, tooMany: false };
  let entries = 0;
  let owner: number | undefined;

  const skip = (path: string, why: string): void => {
    if (found.skipped.length < MAX_SKIPPED_REPORTED) found.skipped.push({ path, why });
  };

  /** Undefined when it cannot be opened: a missing entry was removed by the program itself. */
  const tryOpen = async (opened: string, path: string, flags: number): Promise<FileHandle | undefined> => {
    try {
      return await open(opened, flags);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ELOOP' || code === 'ENOTDIR') found.unreadable ??= { path, why: 'it was replaced' };
      else if (code !== 'ENOENT') found.unreadable ??= { path, why: `it cannot be read (${code})` };
      return undefined;
    }
  };

  const takeFile = async (opened: string, subfolder: string, filename: string): Promise<void> => {
    const path = join(subfolder, filename);
    await using file = await tryOpen(opened, path, OPEN_OUTPUT);
    const stats = await file?.stat();
    if (!stats) return;
    if (!stats.isFile()) return skip(path, NO_FILE);
    if (stats.nlink > 1 && stats.uid !== owner)
      return skip(path, 'it is a second name of a file of another user');
    const { size: bytes } = stats;
    found.files.push({ path: join(root, path), filename, subfolder, bytes, identity: identityOf(stats) });
  };

  const take = async (entry: Dirent, opened: string, subfolder: string, depth: number): Promise<void> => {
    const { name } = entry;
    const path = join(subfolder, name);
    const problem = problemOfFileName(name);
    if (problem !== null) skip(path, `its name ${problem}`);
    else if (entry.isDirectory()) await walk(opened, path, depth + 1);
    else if (!entry.isFile()) skip(path, NO_FILE);
    else if (found.files.length >= limits.files) found.tooMany = true;
    else await takeFile(opened, subfolder, name);
  };

  const walk = async (opened: string, path: string, depth: number): Promise<void> => {
    if (depth > limits.depth) return skip(path, `it lies deeper than ${limits.depth} folders`);
    await using folder = await tryOpen(opened, path, OPEN_FOLDER);
    if (!folder) return;
    owner ??= (await folder.stat()).uid;
    const inside = `/proc/self/fd/${folder.fd}`;
    for await (const entry of await opendir(inside)) {
      entries += 1;
      if (entries > limits.entries || found.tooMany) {
        found.tooMany = true;
        return;
      }
      await take(entry, `${inside}/${entry.name}`, path, depth);
    }
  };

  await walk(root, '', 0);
  found.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return found;
};

const NO_FILE = 'it is neither a regular file nor a folder';

/** The same for one file under all its names, and for no other file that exists at the same time. */
export const identityOf = ({ dev, ino }: { readonly dev: number; readonly ino: number }): string =>
  `${dev}:${ino}`;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);

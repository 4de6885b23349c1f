import { constants, type Dirent } from 'node:fs';
import { open, opendir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { problemOfFileName } from '@runledger/contracts/file-name';
import { MAX_OUTPUT_FILES } from '@runledger/contracts/limits';
import { codeOf } from '@runledger/resilience/errors';
import type { OutputFile } from './runner.ts';

export interface CollectedFiles {
  /** The first ones by path, as many as the limits allow. */
  readonly files: readonly OutputFile[];
  /** The first few entries that are no data, such as pipes, with the reason. */
  readonly skipped: readonly LeftEntry[];
  /** The first few entries that should be outputs and cannot be, such as links, with the reason. */
  readonly refused: readonly LeftEntry[];
  /** What was left beyond the limits, as what follows "the program"; null when it is within them. */
  readonly tooMany: string | null;
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

export const FILE_LIMITS: FileLimits = { files: MAX_OUTPUT_FILES, entries: 10_000, depth: 16 };
const MAX_REPORTED = 20;

const OPEN_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Of a file: not through a link, and without waiting for the other end of a pipe. */
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The regular files below a folder, sorted by path. A program that is still alive may change the folder meanwhile: so each
 * folder is opened once, no link is followed anywhere, not even in place of the folder itself, and each file is known by its identity.
 */
export const collectFiles = async (root: string, limits: FileLimits): Promise<CollectedFiles> => {
  const files: OutputFile[] = [];
  const skipped: LeftEntry[] = [];
  const refused: LeftEntry[] = [];
  let entries = 0;
  let isWhole = true;
  let owner: number | undefined;

  const add = (to: LeftEntry[], path: string, why: string): void => {
    if (to.length < MAX_REPORTED) to.push({ path, why });
  };
  const refuse = (path: string, why: string): void => add(refused, path, why);

  const takeFile = async (opened: string, subfolder: string, filename: string): Promise<void> => {
    const path = join(subfolder, filename);
    await using file = await tryOpen(opened, OPEN_FILE, (why) => refuse(path, why));
    const stats = await file?.stat();
    if (!stats) return;
    if (!stats.isFile()) return add(skipped, path, NO_FILE);
    if (stats.nlink > 1 && stats.uid !== owner) return refuse(path, OF_ANOTHER);
    const { size: bytes } = stats;
    files.push({ path: join(root, path), filename, subfolder, bytes, identity: identityOf(stats) });
  };

  const take = async (entry: Dirent, opened: string, subfolder: string, depth: number): Promise<void> => {
    const { name } = entry;
    const path = join(subfolder, name);
    const problem = problemOfFileName(name);
    if (problem !== null) refuse(path, `its name ${problem}`);
    else if (entry.isDirectory()) await walk(opened, path, depth + 1);
    else if (entry.isSymbolicLink()) refuse(path, LINK);
    else if (!entry.isFile()) add(skipped, path, NO_FILE);
    else await takeFile(opened, subfolder, name);
  };

  const walk = async (opened: string, path: string, depth: number): Promise<void> => {
    if (depth > limits.depth) return refuse(path, `it lies deeper than ${limits.depth} folders`);
    await using folder = await tryOpen(opened, OPEN_FOLDER, (why) => refuse(path, why));
    if (!folder) return;
    owner ??= (await folder.stat()).uid;
    const inside = `/proc/self/fd/${folder.fd}`;
    for await (const entry of await opendir(inside)) {
      if (entries === limits.entries) {
        isWhole = false;
        return;
      }
      entries += 1;
      await take(entry, `${inside}/${entry.name}`, path, depth);
    }
  };

  await walk(root, '', 0);
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const kept = files.slice(0, limits.files);
  return { files: kept, skipped, refused, tooMany: beyond(limits, files.length, isWhole) };
};

/** Undefined when it cannot be opened: a missing entry was removed by the program itself. */
const tryOpen = async (
  opened: string,
  flags: number,
  refuse: (why: string) => void,
): Promise<FileHandle | undefined> => {
  try {
    return await open(opened, flags);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ELOOP' || code === 'ENOTDIR') refuse('it was replaced');
    else if (code !== 'ENOENT') refuse(`it cannot be read (${code})`);
    return undefined;
  }
};

const beyond = ({ files, entries }: FileLimits, found: number, isWhole: boolean): string | null => {
  const most = `a run may have ${files} output files`;
  if (!isWhole) return `it left more than ${entries} files and folders, and ${most}`;
  return found > files ? `it left ${found} files, and ${most}` : null;
};

const LINK = 'it is a link, and links are not stored: leave a copy of the file in its place';
const OF_ANOTHER = 'it is a second name of a file of another user: leave a copy of the file in its place';

const NO_FILE = 'it is neither a regular file nor a folder';

/** The time of a file may be that of the last tick of the kernel's clock. */
const TICK_MS = 10;

/** `from`: milliseconds since 1970. Nobody but the kernel sets this time of a file. */
export const isWrittenSince = (from: number, { ctimeMs }: { readonly ctimeMs: number }): boolean =>
  ctimeMs >= from - TICK_MS;

/** Undefined when its name belongs to another file now, or to none, or when it has become shorter. */
export const openUnchanged = async ({
  path,
  identity,
  bytes,
}: OutputFile): Promise<FileHandle | undefined> => {
  const source = await open(path, OPEN_FILE).catch(() => undefined);
  const stats = await source?.stat();
  if (stats && identityOf(stats) === identity && stats.size >= bytes) return source;
  await source?.close();
  return undefined;
};

/** The same for one file under all its names, and for no other file that exists at the same time. */
export const identityOf = ({ dev, ino }: { readonly dev: number; readonly ino: number }): string =>
  `${dev}:${ino}`;

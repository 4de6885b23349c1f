import { lstat, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { join, posix, relative, sep } from 'node:path';
import { MAX_CODE_FILES, MAX_UNPACKED_CODE_BYTES, PathInFolder } from '@runledger/contracts/catalogue/code';
import { codeOf } from '@runledger/resilience/errors';
import ignore, { type Ignore } from 'ignore';
import { Value } from 'typebox/value';
import { CommandError, plain } from '../command/command-error.ts';

/** A file of a folder that is deployed, by its path there, with `/` between its parts. */
export type FolderFile =
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly executable: boolean;
      readonly bytes: number;
    }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

interface FolderFiles {
  /** In the order of the bytes of their paths. */
  readonly files: readonly FolderFile[];
  /** Files with secrets, perhaps, that are never among them. */
  readonly leftOut: readonly string[];
}

/** What is no code of anybody: of tools, and made again by them. */
export const NEVER: ReadonlySet<string> = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '__pycache__',
  '.venv',
  'venv',
  '.runledger',
  '.DS_Store',
]);
const SECRETS = '.env';
const IGNORE_FILES = ['.gitignore', '.runledgerignore'];

/** The files below a folder, but for `others`, and for those that its `.gitignore` and `.runledgerignore` files name. @throws CommandError for what cannot be packed */
export const filesOf = async (
  folder: string,
  others: ReadonlySet<string> = new Set(),
): Promise<FolderFiles> => {
  const found: FolderFile[] = [];
  const leftOut: string[] = [];
  const root = await realpath(folder);
  /** `rules`: those of the folder, and of those above it. */
  const walk = async (below: string, above: readonly Rules[]): Promise<void> => {
    const rules = [await rulesIn(root, below), ...above];
    for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
      const path = posix.join(below, entry.name);
      if (NEVER.has(entry.name) || entry.name.endsWith('.pyc')) continue;
      if (entry.name === SECRETS) leftOut.push(path);
      else if (others.has(path) || isIgnored(rules, entry.isDirectory() ? `${path}/` : path)) continue;
      else if (entry.isDirectory()) await walk(path, rules);
      else found.push(await fileAt(root, path));
      if (found.length > MAX_CODE_FILES) throw tooMany(found);
    }
  };
  await walk('', []);
  checkNames(found);
  const unpacked = bytesOf(found);
  if (unpacked > MAX_UNPACKED_CODE_BYTES)
    throw tooLarge(
      `It has ${sizeOf(unpacked)}, more than the ${sizeOf(MAX_UNPACKED_CODE_BYTES)} that can be deployed`,
      found,
    );
  return {
    files: found.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))),
    leftOut,
  };
};

/** Of one folder. */
interface Rules {
  readonly below: string;
  readonly rules: Ignore;
}

const rulesIn = async (root: string, below: string): Promise<Rules> => {
  // Alike on all systems.
  const rules = ignore({ ignorecase: false });
  for (const file of IGNORE_FILES) {
    try {
      rules.add(await readFile(join(root, below, file), 'utf8'));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw unreadable(posix.join(below, file), error);
    }
  }
  return { below, rules };
};

/** What the nearest folder says counts, as for git. */
const isIgnored = (all: readonly Rules[], path: string): boolean => {
  for (const { below, rules } of all) {
    const { ignored, unignored } = rules.test(below === '' ? path : path.slice(below.length + 1));
    if (ignored || unignored) return ignored;
  }
  return false;
};

const fileAt = async (root: string, path: string): Promise<FolderFile> => {
  if (!Value.Check(PathInFolder, path) || path.includes('\uFFFD'))
    throw new CommandError(
      `${plain(path)} cannot be packed: a path has at most 512 characters in UTF-8, without \\ and control characters. Rename it, or ${ADVICE}.`,
    );
  const file = join(root, path);
  const stats = await lstat(file);
  if (stats.isFile())
    return { kind: 'file', path, executable: (stats.mode & 0o100) !== 0, bytes: stats.size };
  if (!stats.isSymbolicLink())
    throw new CommandError(
      `${plain(path)} cannot be packed: it is neither a file nor a folder. Remove it, or ${ADVICE}.`,
    );
  const target = (await readlink(file)).replaceAll(sep, '/');
  if (await leadsOut(root, path, target))
    throw new CommandError(
      `${plain(path)} is a link to ${plain(target)}, which leads out of the folder: it would lead nowhere on another machine. Copy the file, or ${ADVICE}.`,
    );
  return { kind: 'link', path, target };
};

const ADVICE = 'add it to .runledgerignore';

/** By what it says, and by what is there: a link may lead over another one. */
const leadsOut = async (root: string, path: string, target: string): Promise<boolean> => {
  if (posix.isAbsolute(target) || isOutside(posix.join(posix.dirname(path), target))) return true;
  try {
    return isOutside(relative(root, await realpath(join(root, path))));
  } catch {
    // It leads nowhere, here and there.
    return false;
  }
};

const isOutside = (path: string): boolean => /^\.\.(?:[/\\]|$)/.test(path);

/** A disk of a Mac or of Windows could not hold both of two names, and one of a Mac writes some letters in another way. */
const checkNames = (files: readonly FolderFile[]): void => {
  const known = new Map<string, string>();
  for (const { path } of files) {
    const parts = path.split('/');
    for (const index of parts.keys()) {
      const name = parts.slice(0, index + 1).join('/');
      const folded = name.normalize('NFC').toLowerCase();
      const other = known.get(folded);
      if (other !== undefined && other !== name)
        throw new CommandError(
          `${plain(other)} and ${plain(name)} differ by upper and lower case only: the disk of a Mac or of Windows cannot hold both. Rename one of them.`,
        );
      known.set(folded, name);
    }
  }
};

const unreadable = (path: string, error: unknown): CommandError =>
  new CommandError(`${plain(path)} cannot be read: ${codeOf(error)}. Make it readable, or ${ADVICE}.`);

/** The content of a file of a folder. @throws CommandError */
export const contentOf = async (folder: string, path: string): Promise<Buffer> => {
  try {
    return await readFile(join(folder, path));
  } catch (error) {
    throw unreadable(path, error);
  }
};

export const bytesOf = (files: readonly FolderFile[]): number =>
  files.reduce((total, file) => total + (file.kind === 'file' ? file.bytes : 0), 0);

const LISTED = 3;

/** `why`: what is too large, and by how much. */
export const tooLarge = (why: string, files: readonly FolderFile[]): CommandError => {
  const largest = files
    .filter((file) => file.kind === 'file')
    .toSorted((a, b) => b.bytes - a.bytes)
    .slice(0, LISTED)
    .map(({ path, bytes }) => `${plain(path)} (${sizeOf(bytes)})`);
  return new CommandError(
    `The folder is too large. ${why}. The largest files: ${largest.join(', ')}. Move weights to [models], or add what the code does not need to .runledgerignore.`,
  );
};

const tooMany = (files: readonly FolderFile[]): CommandError => {
  const folders = Map.groupBy(files, ({ path }) =>
    path.includes('/') ? `${path.split('/')[0]}/` : 'the folder itself',
  );
  const most = [...folders]
    .map(([folder, { length }]) => ({ folder, length }))
    .toSorted((a, b) => b.length - a.length)
    .slice(0, LISTED)
    .map(({ folder, length }) => `${plain(folder)} (${length})`);
  return new CommandError(
    `The folder has more than ${MAX_CODE_FILES} files. Most of those that were looked at are in ${most.join(', ')}. Add what the code does not need to .runledgerignore; data can be inputs of runs, and weights belong to [models].`,
  );
};

/** For people, such as `1.5 MiB`. */
export const sizeOf = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} bytes`;
  const [size, unit] =
    bytes < 1024 ** 2
      ? [bytes / 1024, 'KiB']
      : bytes < 1024 ** 3
        ? [bytes / 1024 ** 2, 'MiB']
        : [bytes / 1024 ** 3, 'GiB'];
  return `${size.toFixed(size < 10 ? 1 : 0).replace(/\.0$/, '')} ${unit}`;
};

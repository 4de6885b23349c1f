import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { getuid } from 'node:process';
import { isClosedTo, type User } from './run-as.ts';

/** Programs, libraries and settings of the system. Everything else is hidden: homes, data, other programs' folders. */
const SYSTEM_FOLDERS = [
  '/bin',
  '/etc',
  '/gnu',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix',
  '/opt',
  '/sbin',
  '/sys',
  '/usr',
];
/** Where systemd keeps what /etc/resolv.conf is. */
const RESOLVER = '/etc/resolv.conf';

/** Those that this machine has, and what they point to. */
export const systemFolders = (): readonly string[] => {
  const resolver = realPath(RESOLVER);
  const found = SYSTEM_FOLDERS.filter((path) => realPath(path) !== null);
  return resolver === null || isWithin(found, resolver) ? found : [...found, resolver];
};

/** What exists of these, and what only root may read of /etc when this is root: private keys, password hashes. */
export const hiddenPaths = (given: readonly string[], user: User | null): readonly string[] => {
  const paths = given.map(realPath).filter((path) => path !== null);
  // Another user cannot even look where nothing need be hidden.
  if (user !== null) return [...new Set(paths)].filter((path) => !isClosedTo(user, path));
  return [...new Set([...paths, ...(getuid?.() === 0 ? rootsOnly('/etc') : [])])];
};

const rootsOnly = (folder: string, depth = 3): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [];
    if ((lstatSync(path).mode & 0o004) === 0) return [path];
    return entry.isDirectory() && depth > 0 ? rootsOnly(path, depth - 1) : [];
  });

/**
 * The paths that together are everything below `paths` but the hidden ones. For what can allow, and cannot forbid.
 */
export const pathsWithout = (paths: readonly string[], hidden: readonly string[]): readonly string[] =>
  paths.flatMap((path) => {
    const real = realPath(path);
    // What a process sees there is its own.
    if (real === null || isWithin([...hidden, '/proc'], real)) return [];
    if (!hidden.some((each) => isWithin([real], each))) return [real];
    return pathsWithout(
      readdirSync(real).map((name) => join(real, name)),
      hidden,
    );
  });

/** Whether the path is one of these, or below one. */
export const isWithin = (folders: readonly string[], path: string): boolean =>
  folders.some((folder) => path === folder || path.startsWith(folder === sep ? sep : `${folder}${sep}`));

/** Null when there is nothing, or it may not be looked at. */
export const realPath = (path: string): string | null => {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
};

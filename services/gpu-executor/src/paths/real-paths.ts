import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname, sep } from 'node:path';

/** Whether the path is one of these, or below one. */
export const isWithin = (folders: readonly string[], path: string): boolean =>
  folders.some((folder) => path === folder || path.startsWith(folder === sep ? sep : `${folder}${sep}`));

/** From the highest one, which is that of the whole machine, to the nearest. */
export const foldersAbove = (path: string): readonly string[] =>
  dirname(path) === path ? [] : [...foldersAbove(dirname(path)), dirname(path)];

/** The highest folder above the path that only its owner or its group may enter; null when everybody reaches the path. */
export const closedFolderAbove = (path: string): string | null =>
  foldersAbove(path).find((folder) => (lstatSync(folder).mode & 0o001) === 0) ?? null;

/** Of those that exist. Landlock knows files, not the links to them. */
export const realPaths = (paths: readonly string[]): readonly string[] =>
  paths.map(realPath).filter((path) => path !== null);

/** Null when there is nothing, or it may not be looked at. */
export const realPath = (path: string): string | null => {
  // Errors take long to make, and many of these paths are guesses.
  if (!existsSync(path)) return null;
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
};

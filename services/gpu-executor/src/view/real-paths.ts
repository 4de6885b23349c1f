import { existsSync, lstatSync, realpathSync, readlinkSync } from 'node:fs';
import { dirname, sep, isAbsolute, join } from 'node:path';

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

/** What makes paths lead where they lead on the machine. All of it is real; only the links lead elsewhere. */
export interface VisiblePaths extends WaysBetween {
  /** None is below another one of these, or of the writable ones. */
  readonly readable: readonly string[];
  readonly writable: readonly string[];
}

export interface WaysBetween {
  /** Those that are in none of the paths. */
  readonly links: readonly Link[];
  /** Folders that must be there, with nothing in them: a link leads through them. */
  readonly crossed: readonly string[];
}

/** `isThere` says what is shown anyway. What does not exist is left out. */
export const visiblePaths = (
  named: { readonly readable: readonly string[]; readonly writable: readonly string[] },
  isThere: (path: string) => boolean = () => false,
): VisiblePaths => {
  const [toRead, toWrite] = [waysTo(named.readable), waysTo(named.writable)];
  const writable = [...new Set(toWrite.map(({ real }) => real))];
  const wanted = [...new Set(toRead.map(({ real }) => real))].filter(
    (path) => !isThere(path) && !isWithin(writable, path),
  );
  const readable = wanted.filter(
    (path) =>
      !isWithin(
        wanted.filter((other) => other !== path),
        path,
      ),
  );
  const isAbsent = (path: string): boolean => !isThere(path) && !isWithin([...readable, ...writable], path);
  const ways = [...toRead, ...toWrite];
  const links = new Map(ways.flatMap((way) => way.links.map((link) => [link.path, link] as const)));
  return {
    readable,
    writable,
    links: [...links.values()].filter(({ path }) => isAbsent(path)),
    crossed: [...new Set(ways.flatMap(({ crossed }) => crossed))].filter(isAbsent),
  };
};

const waysTo = (paths: readonly string[]): readonly Way[] =>
  [...new Set(paths)].map(wayTo).filter((way) => way !== null);

interface Link {
  /** Without another link in it. */
  readonly path: string;
  /** As it is written. */
  readonly target: string;
}

/** How the kernel gets from a path to what is there. */
export interface Way {
  /** What is there. */
  readonly real: string;
  readonly links: readonly Link[];
  /** Folders that it only enters to leave them by `..`. */
  readonly crossed: readonly string[];
}

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/** Null when there is nothing, or it may not be looked at. */
export const wayTo = (path: string): Way | null => {
  const links: Link[] = [];
  const crossed: string[] = [];
  const follow = (from: string, [name, ...after]: readonly string[]): string | null => {
    if (name === undefined) return from;
    if (name === '..') {
      crossed.push(from);
      return follow(dirname(from), after);
    }
    const at = join(from, name);
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (found === undefined) return null;
    if (!found.isSymbolicLink()) return follow(at, after);
    const target = readlinkSync(at);
    // Those of /proc lead each process somewhere else.
    if (isWithin(['/proc'], at) || links.push({ path: at, target }) > MAX_LINKS) return null;
    return follow(isAbsolute(target) ? sep : from, [...partsOf(target), ...after]);
  };
  try {
    const real = follow(sep, partsOf(path));
    return real === null ? null : { real, links, crossed };
  } catch {
    return null;
  }
};

const partsOf = (path: string): string[] => path.split(sep).filter((part) => part !== '' && part !== '.');

import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { isWithin } from './real-paths.ts';

export interface Link {
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

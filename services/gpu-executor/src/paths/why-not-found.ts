import { basename, dirname } from 'node:path';
import { interpretersOf } from './interpreters.ts';
import { wayTo } from './way-to.ts';

/** How many interpreters the kernel starts for one file. */
const MAX_STEPS = 5;

/**
 * Why the system finds nothing to start, although the file of the command is there: its interpreter, its loader or what a link leads to is not;
 * null when all of it is. `isVisible` is for real paths.
 */
export const whyNotFound = (
  command: string,
  path: string,
  isVisible: (path: string) => boolean,
): string | null => {
  const what = (file: string): string => (file === command ? 'it' : `its interpreter ${file}`);
  const look = (file: string, steps: number): string | null => {
    const way = wayTo(file);
    if (way === null) return file === command ? null : `its interpreter ${file} does not exist`;
    const unseen = [...way.links.map((link) => link.path), way.real].find((each) => !isVisible(each));
    if (unseen !== undefined) {
      const shown = unseen === file ? what(file) : `${what(file)} leads to ${unseen}, which`;
      return `${shown} is not visible to programs: add ${installationOf(way.real)} to "readable" of its entry`;
    }
    if (steps === MAX_STEPS) return null;
    for (const interpreter of interpretersOf(way.real, path)) {
      const why = look(interpreter, steps + 1);
      if (why !== null) return why;
    }
    return null;
  };
  const why = look(command, 0);
  return why === null ? null : `${command} exists, and ${why}`;
};

const installationOf = (file: string): string =>
  basename(dirname(file)) === 'bin' ? dirname(dirname(file)) : file;

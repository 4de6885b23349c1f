import { basename, dirname } from 'node:path';
import { statSync, type Stats } from 'node:fs';
import { isOfSystem } from '../isolation/hidden-paths.ts';
import { isInNamespace, type Isolation, type View } from '../isolation/isolation.ts';
import type { User } from '../isolation/users.ts';
import { interpretersOf } from './interpreters.ts';
import { isWithin, realPaths, visiblePaths, wayTo, foldersAbove } from './real-paths.ts';

/** Whom a program is, and what it sees. */
export interface Seen {
  readonly isolation: Isolation;
  readonly view: View;
  /** Null for the user of the executor. */
  readonly user: User | null;
}

interface Started {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The system's name of an error, and what it means for this command, with what to do, where that is known. */
export const explainCode = (code: string, { command, env }: Started, seen: Seen): string => {
  const path = env['PATH'] ?? '';
  const isUnseen = code === 'ENOENT' || code === 'EACCES';
  const why =
    (isUnseen ? whyNotFound(command, path, isVisibleTo(seen)) : null) ??
    (code === 'EACCES' ? whyNotStartable(command, path, seen) : null);
  return why === null ? code : `${code}: ${why}`;
};

/** Why its user cannot start the command or its interpreter, with what to do; null when permission bits allow it, or there is none. */
export const whyNotStartable = (command: string, path: string, seen: Seen): string | null =>
  realPaths([command, ...interpretersOf(command, path)])
    .map((file) => whyUnusable(file, 'start', seen))
    .find((why) => why !== null) ?? null;

/** Why its user cannot use what is at a real path, with what to do; null when permission bits allow it. */
export const whyUnusable = (path: string, use: Use, seen: Seen): string | null =>
  seen.user === null ? null : whyClosed(path, use, seen.user, isRemadeFor(seen));

/** Whether it is shown what is at a real path. */
const isVisibleTo = ({ isolation, view }: Seen): ((path: string) => boolean) => {
  if (!('hidden' in isolation)) return () => true;
  const { readable, writable, links } = visiblePaths(view);
  const shown = [...readable, ...writable, ...links.map(({ path }) => path)];
  return (path) => isWithin(shown, path) || isOfSystem(path, isolation.hidden);
};

/** Above what is mounted for a program, its own namespace has folders that everybody may enter. */
const isRemadeFor = ({ isolation, view }: Seen): ((folder: string) => boolean) => {
  if (!isInNamespace(isolation)) return () => false;
  const { readable, writable } = visiblePaths(view);
  return (folder) => !isWithin([...readable, ...writable], folder) && !isOfSystem(folder, []);
};

/** How many interpreters the kernel starts for one file. */
const MAX_STEPS = 5;

/**
 * Why the system finds nothing to start, although the file of the command is there: its interpreter, its loader or what a link leads to is not;
 * null when all of it is. `isVisible` is for real paths.
 */
const whyNotFound = (command: string, path: string, isVisible: (path: string) => boolean): string | null => {
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

/** For files: what is read, or started. */
type Use = 'read' | 'start';
const NEEDED = { read: 0o4, start: 0o5, enter: 0o1, list: 0o5 } as const;

/**
 * Why this user cannot use what is at a real path, with what to do; null when permission bits allow it. `isRemade` says which folders above are
 * not those of the machine to programs.
 */
const whyClosed = (
  path: string,
  use: Use,
  user: User,
  isRemade: (folder: string) => boolean,
): string | null => {
  const closed = foldersAbove(path).find(
    (folder) => !isRemade(folder) && !mayUse(statSync(folder), user, NEEDED.enter),
  );
  const who = `the user ${user.uid}:${user.gid} of programs`;
  if (closed !== undefined)
    return `${who} cannot get to ${path}, because ${closed} is closed to it: chmod o+x ${closed}, or put it elsewhere`;
  const found = statSync(path);
  if (mayUse(found, user, NEEDED[found.isDirectory() ? 'list' : use])) return null;
  return use === 'start' || found.isDirectory()
    ? `${who} cannot ${found.isDirectory() ? 'look into' : 'start'} ${path}: chmod o+rx ${path}`
    : `${who} cannot read ${path}: chmod o+r ${path}`;
};

const mayUse = ({ uid, gid, mode }: Stats, user: User, needed: number): boolean => {
  const granted = uid === user.uid ? mode >> 6 : gid === user.gid ? mode >> 3 : mode;
  return (granted & needed) === needed;
};

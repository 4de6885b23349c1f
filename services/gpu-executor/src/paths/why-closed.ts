import { statSync, type Stats } from 'node:fs';
import type { User } from '../isolation/users.ts';
import { foldersAbove } from './real-paths.ts';

/** For files: what is read, or started. */
export type Use = 'read' | 'start';
const NEEDED = { read: 0o4, start: 0o5, enter: 0o1, list: 0o5 } as const;

/**
 * Why this user cannot use what is at a real path, with what to do; null when permission bits allow it. `isRemade` says which folders above are
 * not those of the machine to programs.
 */
export const whyClosed = (
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

import { isOfSystem } from '../isolation/hidden-paths.ts';
import { isInNamespace, type Isolation, type View } from '../isolation/isolation.ts';
import type { User } from '../isolation/users.ts';
import { interpretersOf } from '../paths/interpreters.ts';
import { isWithin, realPaths } from '../paths/real-paths.ts';
import { shownPaths } from '../paths/shown-paths.ts';
import { whyClosed, type Use } from '../paths/why-closed.ts';
import { whyNotFound } from '../paths/why-not-found.ts';

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
  const { readable, writable, links } = shownPaths(view);
  const shown = [...readable, ...writable, ...links.map(({ path }) => path)];
  return (path) => isWithin(shown, path) || isOfSystem(path, isolation.hidden);
};

/** Above what is mounted for a program, its own namespace has folders that everybody may enter. */
const isRemadeFor = ({ isolation, view }: Seen): ((folder: string) => boolean) => {
  if (!isInNamespace(isolation)) return () => false;
  const { readable, writable } = shownPaths(view);
  return (folder) => !isWithin([...readable, ...writable], folder) && !isOfSystem(folder, []);
};

import {
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  lstatSync,
  readdirSync,
  statfsSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { closedFolderAbove, isWithin, type WaysBetween } from '../view/real-paths.ts';
import { nameFilesWith, type NamedUser } from './names.decide.ts';
import type { SystemCalls } from './system-calls.ts';

/** Of linux/mount.h. */
const [NO_SUID, NO_DEVICES, NO_EXECUTION, BIND, RECURSIVE] = [2, 4, 8, 4096, 16_384];
const TERMINALS = '/dev/pts';
const SAFE = NO_SUID | NO_DEVICES;

/** What the programs of a supervisor that has mounts of its own need of them. All paths are absolute and real. */
export interface OwnMounts {
  /** What they must get to. */
  readonly reached: WaysBetween & { readonly paths: readonly string[] };
  /** The only ones in which they may change anything; null where nothing is hidden from them. */
  readonly writable: readonly string[] | null;
  /** Whom they find under their own number; null for a user that has a name. */
  readonly named: NamedUser | null;
}

/**
 * For a process with mounts of its own, and the right to change them: nothing but what is writable can be changed, also not its owner or mode, which
 * Landlock does not know; nobody else sees its shared memory, and it no terminals but its own; and there is a way below folders that are closed to another user, as /root is, which
 * then have nothing else in them.
 */
export const mountOwn = (calls: SystemCalls, { reached, writable, named }: OwnMounts): void => {
  const memory = (mode: string): void => calls.mount('tmpfs', SHARED_MEMORY, 'tmpfs', SAFE, `mode=${mode}`);
  const places = [...reached.paths, ...reached.links.map(({ path }) => path), ...reached.crossed];
  const closed = new Set(places.map(closedFolderAbove).filter((folder) => folder !== null));
  if (closed.size > 0 || named !== null) memory('0755');
  for (const folder of closed) {
    const isBelow = (path: string): boolean => isWithin([folder], path);
    // Shorter paths first: what is below one of them comes with it.
    const paths = reached.paths.filter(isBelow).toSorted((a, b) => a.length - b.length);
    for (const path of paths) showAgain(calls, path);
    for (const path of reached.crossed.filter(isBelow)) mkdirSync(copyOf(path), ENTERABLE);
    for (const { path, target } of reached.links.filter((link) => isBelow(link.path)))
      linkAgain(path, target);
    calls.mount(copyOf(folder), folder, null, BIND | RECURSIVE, null);
  }
  if (named !== null) for (const [path, content] of nameFiles(named)) replace(calls, path, content);
  if (writable !== null) {
    for (const path of writable) calls.mount(path, path, null, BIND | RECURSIVE, null);
    calls.setReadOnly('/', true, true);
    for (const path of writable) calls.setReadOnly(path, false, false);
  }
  // It covers the one before.
  memory('1777');
  // What opens /dev/ptmx gets one of these.
  if (exists(TERMINALS)) calls.mount('devpts', TERMINALS, 'devpts', NO_SUID | NO_EXECUTION, 'ptmxmode=0666');
};

const copyOf = (path: string): string => `${SHARED_MEMORY}${path}`;

const ENTERABLE = { recursive: true, mode: 0o755 } as const;

const showAgain = (calls: SystemCalls, path: string): void => {
  const copy = copyOf(path);
  if (exists(copy)) return;
  mkdirSync(statSync(path).isDirectory() ? copy : dirname(copy), ENTERABLE);
  if (!statSync(path).isDirectory()) writeFileSync(copy, '');
  calls.mount(path, copy, null, BIND | RECURSIVE, null);
};

const linkAgain = (path: string, target: string): void => {
  const copy = copyOf(path);
  mkdirSync(dirname(copy), ENTERABLE);
  symlinkSync(target, copy);
};

/** What programs see in place of the machine's files. An image may have none. */
export const nameFiles = (named: NamedUser): ReadonlyMap<string, string> =>
  nameFilesWith(named, (file) => (exists(file) ? readFileSync(file, 'utf8') : ''));

/** Nothing of the machine is changed. */
const replace = (calls: SystemCalls, path: string, content: string): void => {
  if (!exists(path)) return;
  const copy = `${SHARED_MEMORY}/${basename(path)}`;
  writeFileSync(copy, content, { mode: 0o444 });
  calls.mount(copy, path, null, BIND, null);
};

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/** Where shm_open and sem_open have their files. */
export const SHARED_MEMORY = '/dev/shm';
/** The folders in memory that the namespaces of a supervisor have, and every program of it may write to. */
export const MEMORY_FOLDERS = ['/tmp', '/var/tmp', SHARED_MEMORY] as const;
const SYSTEM_V = ['/proc/sysvipc/shm', '/proc/sysvipc/sem', '/proc/sysvipc/msg'];

/**
 * Looks at them now, and says later whether they have what they had: the folders in which something else is mounted. Nor may anything be in
 * the memory that System V's calls share, which belongs to no process.
 */
export const watchMemory = (folders: readonly string[]): (() => boolean) => {
  const atStart = new Set(folders.flatMap((folder) => [...entriesBelow(folder)]));
  return () => {
    if (folders.length === 0) return true;
    for (const folder of folders)
      for (const path of entriesBelow(folder)) if (!atStart.has(path)) return false;
    return SYSTEM_V.every((file) => readFileSync(file, 'utf8').trim().split('\n').length === 1);
  };
};

/** Whether one of these is full, but for what no write fits into. Shared memory has no limit of its own. */
export const isTemporaryFull = (folders: readonly string[]): boolean =>
  folders.some((folder) => folder !== SHARED_MEMORY && freeIn(folder) < MIN_FREE_BYTES);

const freeIn = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};
const MIN_FREE_BYTES = 64 * 1024;

/** Without what is mounted there. */
function* entriesBelow(folder: string): Generator<string> {
  const { dev } = lstatSync(folder);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    yield path;
    const entry = lstatSync(path);
    if (entry.isDirectory() && entry.dev === dev) yield* entriesBelow(path);
  }
}

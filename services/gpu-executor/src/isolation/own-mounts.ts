import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { closedFolderAbove, isWithin } from '../paths/real-paths.ts';
import type { ShownPaths } from '../paths/shown-paths.ts';
import { SHARED_MEMORY } from './memory-folders.ts';
import type { SystemCalls } from './system-calls.ts';

/** Of linux/mount.h. */
const [NO_SUID, NO_DEVICES, NO_EXECUTION, BIND, RECURSIVE] = [2, 4, 8, 4096, 16_384];
const TERMINALS = '/dev/pts';
const SAFE = NO_SUID | NO_DEVICES;

/** What the programs of a supervisor that has mounts of its own need of them. All paths are absolute and real. */
export interface OwnMounts {
  /** What they must get to. */
  readonly reached: Pick<ShownPaths, 'links' | 'crossed'> & { readonly paths: readonly string[] };
  /** The only ones in which they may change anything; null where nothing is hidden from them. */
  readonly writable: readonly string[] | null;
}

/**
 * For a process with mounts of its own, and the right to change them: nothing but what is writable can be changed, also not its owner or mode, which
 * Landlock does not know; nobody else sees its shared memory, and it no terminals but its own; and there is a way below folders that are closed to another user, as /root is, which
 * then have nothing else in them.
 */
export const mountOwn = (calls: SystemCalls, { reached, writable }: OwnMounts): void => {
  const memory = (mode: string): void => calls.mount('tmpfs', SHARED_MEMORY, 'tmpfs', SAFE, `mode=${mode}`);
  const places = [...reached.paths, ...reached.links.map(({ path }) => path), ...reached.crossed];
  const closed = new Set(places.map(closedFolderAbove).filter((folder) => folder !== null));
  if (closed.size > 0) memory('0755');
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

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

import { existsSync, lstatSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cardDevices } from '../card-devices.ts';
import { foldersAbove, isWithin, visiblePaths } from '../view/real-paths.ts';
import { systemPaths } from './hidden-paths.ts';
import { MEMORY_FOLDERS, SHARED_MEMORY } from './mounts.ts';
import type { Isolation, View } from './isolation.ts';
import { supervisorCode } from './supervisor-code.ts';

const NAMESPACES = [
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--as-pid-1',
  '--die-with-parent',
  '--cap-drop',
  'ALL',
];
/** Root makes them without a user namespace, and the supervisor then becomes another user; in one there would be no other. */
const BY_ROOT = ['--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'];
const BY_OTHERS = ['--unshare-user'];
const KERNEL_FOLDERS = ['--proc', '/proc', '--dev', '/dev'];
/** What container engines make read-only of the kernel's own, and what they hide. */
const KERNEL_READ_ONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
const KERNEL_HIDDEN = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
];
const COMMAND_FOLLOWS = ['--chdir', '/', '--'];
/** What is made for the programs of one supervisor, and is not of the machine. */
export interface BubblewrapMade {
  /** Of each temporary folder in memory. */
  readonly temporaryBytes: number | null;
  /** Files, and the descriptors from which bubblewrap reads what is in them. */
  readonly written: ReadonlyMap<string, number>;
}
const NOTHING_MADE: BubblewrapMade = { temporaryBytes: null, written: new Map() };

/**
 * The options that make a view with bubblewrap, up to the command: it becomes the first process of the namespaces, without any capability but those
 * to become another user. `folder` is where the files of its runs are; null when there is none yet.
 */
export const bubblewrapOptions = (
  { hidden, users }: Pick<Extract<Isolation, { readonly kind: 'bubblewrap' }>, 'hidden' | 'users'>,
  view: View,
  folder: string | null,
  { temporaryBytes, written }: BubblewrapMade = NOTHING_MADE,
): readonly string[] => {
  const system = systemPaths();
  const covered = [...hidden.filter((path) => isWithin(system, path)), ...KERNEL_HIDDEN.filter(existsSync)];
  const isThere = (path: string): boolean => isWithin(system, path) && !isWithin(covered, path);
  // bubblewrap mounts nothing on a link, from version 0.12 on. What is real is mounted, and links are links.
  const { readable, writable, links, crossed } = visiblePaths(
    {
      readable: [...supervisorCode(), ...view.readable],
      writable: [...view.writable, ...(folder === null ? [] : [folder])],
    },
    isThere,
  );
  const given = [...readable, ...writable, ...links.map(({ path }) => path), ...crossed.map(anythingIn)];
  return [
    ...NAMESPACES,
    ...(users.kind === 'executor' ? BY_OTHERS : BY_ROOT),
    ...(view.network === 'host' ? [] : ['--unshare-net']),
    ...allAbove(system).flatMap(enterable),
    ...system.filter((path) => !written.has(path)).flatMap(mountSystem),
    ...[...written].flatMap(([path, descriptor]) => [
      '--perms',
      '0444',
      '--ro-bind-data',
      String(descriptor),
      path,
    ]),
    ...KERNEL_FOLDERS,
    ...KERNEL_READ_ONLY.filter(existsSync).flatMap((path) => ['--ro-bind', path, path]),
    ...(view.cards ? cardDevices() : []).flatMap((path) => ['--dev-bind', path, path]),
    ...MEMORY_FOLDERS.flatMap((path) => mountMemory(path, temporaryBytes)),
    ...covered.flatMap(cover),
    ...allAbove(given).flatMap(enterable),
    ...readable.flatMap((path) => ['--ro-bind', path, path]),
    ...writable.flatMap((path) => ['--bind', path, path]),
    ...links.flatMap(({ path, target }) => ['--symlink', target, path]),
    ...[...covered.filter(isFolder), '/dev', '/'].flatMap((path) => ['--remount-ro', path]),
    ...COMMAND_FOLLOWS,
  ];
};

const mountSystem = (path: string): string[] =>
  lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];

/** Shared memory may be half of the machine's, as everywhere. */
const mountMemory = (path: string, bytes: number | null): string[] => [
  ...(path === SHARED_MEMORY || bytes === null ? [] : ['--size', String(bytes)]),
  '--perms',
  '1777',
  '--tmpfs',
  path,
];

/** It makes the folders above what it binds for its own user only. */
const enterable = (path: string): string[] => ['--perms', '0755', '--dir', path];

const allAbove = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths.flatMap(foldersAbove))].filter((folder) => folder !== '/');

const anythingIn = (folder: string): string => join(folder, 'anything');

const cover = (path: string): string[] =>
  isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];

const isFolder = (path: string): boolean => statSync(path).isDirectory();

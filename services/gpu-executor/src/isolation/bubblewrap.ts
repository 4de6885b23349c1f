import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { cardDevices } from './card-devices.ts';
import { isWithin, systemFolders } from './hidden-paths.ts';
import { MEMORY_FOLDERS, SHARED_MEMORY } from './memory-folders.ts';
import type { View } from './isolation.ts';
import { supervisorCode } from './supervisor-code.ts';

const NAMESPACES = [
  '--unshare-user',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--as-pid-1',
  '--die-with-parent',
  '--cap-drop',
  'ALL',
];
const KERNEL_FOLDERS = ['--proc', '/proc', '--dev', '/dev'];
const COMMAND_FOLLOWS = ['--chdir', '/', '--'];
/** Programs are told to use their TMPDIR, which is on disk. Shared memory may be half of the machine's, as everywhere. */
const TEMPORARY_BYTES = 256 * 1024 * 1024;

/**
 * The options that make a view with bubblewrap, up to the command: it becomes the first process of the namespaces, without any capability. `folder` is
 * where the files of its runs are; null when there is none yet.
 */
export const bubblewrapOptions = (
  view: View,
  folder: string | null,
  hidden: readonly string[],
): readonly string[] => {
  const covered = hidden.filter((path) => isWithin(systemFolders(), path));
  return [
    ...NAMESPACES,
    ...(view.network === 'host' ? [] : ['--unshare-net']),
    ...systemFolders().flatMap(mountSystem),
    ...KERNEL_FOLDERS,
    ...(view.cards ? cardDevices() : []).flatMap((path) => ['--dev-bind', path, path]),
    ...MEMORY_FOLDERS.flatMap(mountMemory),
    ...covered.flatMap(cover),
    ...[...supervisorCode(), ...view.readable].flatMap((path) => ['--ro-bind', path, path]),
    ...[...view.writable, ...(folder === null ? [] : [folder])].flatMap((path) => ['--bind', path, path]),
    ...[...covered.filter(isFolder), '/dev', '/'].flatMap((path) => ['--remount-ro', path]),
    ...COMMAND_FOLLOWS,
  ];
};

const mountSystem = (path: string): string[] =>
  lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];

const mountMemory = (path: string): string[] =>
  path === SHARED_MEMORY ? ['--tmpfs', path] : ['--size', String(TEMPORARY_BYTES), '--tmpfs', path];

const cover = (path: string): string[] =>
  isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];

const isFolder = (path: string): boolean => statSync(path).isDirectory();

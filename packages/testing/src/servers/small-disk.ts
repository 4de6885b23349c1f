import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A tmpfs in a mount namespace of the command. It needs no privileges where users may create user namespaces. */
const IN_NAMESPACE = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c'];
const MOUNT = 'mkdir -p "$0" && mount -t tmpfs -o "size=$1,mode=0700" small-disk "$0" && shift && exec "$@"';

/** A prefix for a command: the command sees an empty disk of this size in place of the folder. */
export const withSmallDisk = (folder: string, bytes: number): string[] => [
  ...IN_NAMESPACE,
  MOUNT,
  folder,
  String(bytes),
];

/** The reason why a test cannot mount a disk on this machine; undefined if it can. */
export const whyNoSmallDisk = (): string | undefined => {
  const [file, ...args] = [...IN_NAMESPACE, 'mount -t tmpfs small-disk /tmp'];
  const { status, stderr, error } = spawnSync(file, args, { encoding: 'utf8' });
  return status === 0 ? undefined : `no disk can be mounted here (${error?.message ?? stderr.trim()})`;
};

const MiB = Buffer.alloc(1024 ** 2);
const SMALLEST = 1_024;

/** Fills the disk at the folder, as the process with this id sees it. The returned function frees the space. */
export const fillDisk = (pid: number, folder: string): (() => void) => {
  const path = join(`/proc/${pid}/root`, folder, 'ballast');
  const file = openSync(path, 'w');
  for (let piece = MiB; piece.length >= SMALLEST;) {
    try {
      writeSync(file, piece);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      piece = piece.subarray(0, piece.length / 2);
    }
  }
  closeSync(file);
  return () => rmSync(path);
};

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '@runledger/resilience/errors';

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

/** A small disk that outlives the processes that use it. */
export interface SmallDisk extends AsyncDisposable {
  /** A prefix for a command that is to see the disk in place of the folder. */
  readonly through: readonly string[];
  /** Again, it fills what has become free since then. */
  readonly fill: () => void;
  /** Removes what filled it. */
  readonly freeSpace: () => void;
  readonly empty: () => void;
}

/** @throws Error if no disk can be mounted */
export const openSmallDisk = async (folder: string, bytes: number): Promise<SmallDisk> => {
  const [file = '', ...mount] = withSmallDisk(folder, bytes);
  // It holds the disk until its standard input ends, at the latest with this process.
  const holder = spawn(file, [...mount, 'sh', '-c', 'echo mounted && exec cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const { pid } = holder;
  const ended = once(holder, 'close');
  const isMounted = Promise.race([once(holder.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (pid === undefined || !(await isMounted)) throw new Error(`No disk can be mounted at ${folder}.`);
  const seen = join(`/proc/${pid}/root`, folder);
  return {
    through: ['nsenter', '--target', `${pid}`, '--user', '--preserve-credentials', '--mount', '--'],
    fill: () => void fillDisk(pid, folder),
    freeSpace: () => rmSync(join(seen, BALLAST), { force: true }),
    empty: () => {
      for (const name of readdirSync(seen)) rmSync(join(seen, name), { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: async () => {
      holder.stdin.end();
      await ended;
    },
  };
};

const BALLAST = 'ballast';

/** Fills the disk at the folder, as the process with this id sees it. The returned function frees the space. */
export const fillDisk = (pid: number, folder: string): (() => void) => {
  const path = join(`/proc/${pid}/root`, folder, BALLAST);
  const file = openSync(path, 'a');
  for (let piece = MiB; piece.length >= SMALLEST;) {
    try {
      writeSync(file, piece);
    } catch (error) {
      if (codeOf(error) !== 'ENOSPC') throw error;
      piece = piece.subarray(0, piece.length / 2);
    }
  }
  closeSync(file);
  return () => rmSync(path);
};

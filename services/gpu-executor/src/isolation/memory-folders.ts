import { lstatSync, readdirSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

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
  folders.some((folder) => folder !== SHARED_MEMORY && freeIn(folder) < NO_ROOM_BYTES);

const freeIn = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};
const NO_ROOM_BYTES = 64 * 1024;

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

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { holdsNoFile, allowOwner } from './remove-tree.ts';

/**
 * The bytes on disk of a folder with everything in it, an empty file as much as a file system plans for one; what may not be listed is made listable. `du` does the work, because Node reads all names of
 * a tree into memory, and goes by paths.
 * @throws when the machine has no room for a process
 * @returns null when it cannot be known, as for a program that hides its files all the time
 */
export const folderBytes = async (path: string): Promise<number | null> => {
  // As of a program that is kept and writes nothing: a process for each look would take more than its runs.
  if (holdsNoFile(path)) return 0;
  const first = await measure(path);
  if (first !== null) return first;
  await allowOwner(path);
  return measure(path);
};

/** Null when something may not be listed. What disappears meanwhile does not count. */
const measure = async (path: string): Promise<number | null> => {
  const [bytes, files] = await Promise.all([diskUsage(path, '-B1'), diskUsage(path, '--inodes')]);
  return bytes === null || files === null ? null : Math.max(bytes, files * BYTES_OF_FILE);
};

const diskUsage = async (path: string, unit: '-B1' | '--inodes'): Promise<number | null> => {
  const { stdout, stderr } = await run(['-sx', unit, '--', path]);
  return stderr.includes('Permission denied') ? null : Number.parseInt(stdout, 10) || 0;
};

const run = async (
  args: readonly string[],
): Promise<{ readonly stdout: string; readonly stderr: string }> => {
  try {
    return await promisify(execFile)('env', ['LC_ALL=C', 'du', ...args], {
      maxBuffer: MAX_COMPLAINTS,
    });
  } catch (error) {
    // It ends with an error when a file disappears, says which, and the sum all the same.
    if (error instanceof Error && 'stdout' in error && 'stderr' in error && error.stderr !== '')
      return { stdout: String(error.stdout), stderr: String(error.stderr) };
    throw error;
  }
};

/** By default ext4 has no room for more files than one in so many bytes. */
const BYTES_OF_FILE = 16_384;
/** In bytes. It complains of each folder. */
const MAX_COMPLAINTS = 16 * 1024 ** 2;

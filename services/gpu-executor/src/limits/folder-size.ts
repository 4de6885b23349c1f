import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { allowOwner } from '../leftovers/remove-tree.ts';

/**
 * The bytes on disk of a folder with everything in it; what may not be listed is made listable. `du` does the work, because Node reads all names of
 * a tree into memory, and goes by paths.
 * @returns null when it cannot be known, as for a program that hides its files all the time
 */
export const folderBytes = async (path: string): Promise<number | null> => {
  const first = await measure(path);
  if (first !== null) return first;
  await allowOwner(path);
  return measure(path);
};

/** Null when something may not be listed. What disappears meanwhile does not count. */
const measure = async (path: string): Promise<number | null> => {
  const { stdout, stderr } = await diskUsage(path);
  return stderr.includes('Permission denied') ? null : Number.parseInt(stdout, 10) || 0;
};

const diskUsage = async (path: string): Promise<{ readonly stdout: string; readonly stderr: string }> => {
  try {
    return await promisify(execFile)('env', ['LC_ALL=C', 'du', '-sx', '-B1', '--', path], {
      maxBuffer: MAX_COMPLAINTS,
    });
  } catch (error) {
    // It ends with an error when a file disappears, and says the sum all the same.
    if (error instanceof Error && 'stdout' in error && 'stderr' in error)
      return { stdout: String(error.stdout), stderr: String(error.stderr) };
    throw error;
  }
};

/** In bytes. It complains of each folder. */
const MAX_COMPLAINTS = 16 * 1024 ** 2;

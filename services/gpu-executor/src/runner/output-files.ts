import type { Dirent } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_FILENAME } from '@runledger/contracts/limits';
import type { OutputFile } from './runner.ts';

export interface CollectedFiles {
  readonly files: OutputFile[];
  /** The first few entries that are not outputs, with the reason. */
  readonly skipped: { path: string; why: string }[];
  /** True when there is more than the limits allow. */
  tooMany: boolean;
}

export interface FileLimits {
  files: number;
  entries: number;
  depth: number;
}

/** Each file takes a few hundred bytes in the list of outputs, which may have 256 KiB. */
export const FILE_LIMITS: FileLimits = { files: 500, entries: 10_000, depth: 16 };
const MAX_SKIPPED_REPORTED = 20;

/**
 * The regular files below a folder, sorted by path. Links are not followed; entries that are neither files nor folders are
 * skipped. Call it when the workflow has ended, so that the folder does not change meanwhile.
 */
export const collectFiles = async (root: string, limits: FileLimits): Promise<CollectedFiles> => {
  const found: CollectedFiles = { files: [], skipped: [], tooMany: false };
  let entries = 0;

  const skip = (path: string, why: string): void => {
    if (found.skipped.length < MAX_SKIPPED_REPORTED) found.skipped.push({ path, why });
  };

  const take = async (entry: Dirent, subfolder: string, depth: number): Promise<void> => {
    const path = join(entry.parentPath, entry.name);
    const bad = badName(entry.name);
    if (bad !== null) skip(path, bad);
    else if (entry.isDirectory()) await walk(path, join(subfolder, entry.name), depth + 1);
    else if (!entry.isFile()) skip(path, 'it is neither a regular file nor a folder');
    else if (found.files.length >= limits.files) found.tooMany = true;
    else found.files.push({ path, filename: entry.name, subfolder, bytes: (await lstat(path)).size });
  };

  const walk = async (folder: string, subfolder: string, depth: number): Promise<void> => {
    if (depth > limits.depth) return skip(folder, `it lies deeper than ${limits.depth} folders`);
    for await (const entry of await opendir(folder)) {
      entries += 1;
      if (entries > limits.entries || found.tooMany) {
        found.tooMany = true;
        return;
      }
      await take(entry, subfolder, depth);
    }
  };

  await walk(root, '', 0);
  found.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return found;
};

/** Such a name could not be stored, shown or requested. */
const badName = (name: string): string | null => {
  if (name.length > MAX_FILENAME) return `its name is longer than ${MAX_FILENAME} characters`;
  if (/[\p{Cc}\uFFFD]/u.test(name)) return 'its name holds control characters or is not valid UTF-8';
  return name.includes('\\') ? 'its name holds a backslash' : null;
};

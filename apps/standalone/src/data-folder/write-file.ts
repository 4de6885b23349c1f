import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export const OWNER_ONLY = 0o600;

/** Replaces a file that only its owner may read. */
export const writePrivateFile = (path: string, text: string): Promise<void> =>
  replaceFile(path, text, OWNER_ONLY);

/** Replaces a file atomically: a reader finds the old text or the new one, even after a power cut. */
export const replaceFile = async (path: string, text: string, mode: number): Promise<void> => {
  const draft = await writeDraft(path, text, mode);
  try {
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await flushFolder(dirname(path));
};

/** Writes a new file beside `path`, and resolves with its name when the content is on disk. */
const writeDraft = async (path: string, text: string, mode: number): Promise<string> => {
  const draft = `${path}.${randomUUID()}.draft`;
  await using file = await open(draft, 'wx', mode);
  // The umask may have removed permissions.
  await file.chmod(mode);
  await file.writeFile(text);
  await file.sync();
  return draft;
};

/** A new name is on disk only after its folder is flushed. */
const flushFolder = async (path: string): Promise<void> => {
  await using folder = await open(path);
  await folder.sync();
};

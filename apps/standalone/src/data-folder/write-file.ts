import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export const THIS_USER_ALONE = 0o600;

/** As `replaceFile`. Only this user may read it, from its first byte on. */
export const writePrivateFile = (path: string, text: string): Promise<void> =>
  replaceFile(path, text, THIS_USER_ALONE);

/** Replaces a file as a whole: whoever reads it, also after a power cut, finds the old text or the new one. */
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

/** Writes the text to a new file beside `path` and gives its name, once its content is on disk. */
export const writeDraft = async (path: string, text: string, mode = THIS_USER_ALONE): Promise<string> => {
  const draft = `${path}.${randomUUID()}.draft`;
  await using file = await open(draft, 'wx', mode);
  // The umask may have taken something away.
  await file.chmod(mode);
  await file.writeFile(text);
  await file.sync();
  return draft;
};

/** A new name is on disk only when its folder is. */
const flushFolder = async (path: string): Promise<void> => {
  await using folder = await open(path);
  await folder.sync();
};

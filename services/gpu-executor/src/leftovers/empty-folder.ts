import { lstatSync, opendirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';

// What is asked here for each run takes less in this thread than to hand it to another one.

/** Whether nothing has the name. False when that cannot be known. */
export const isGone = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
};

/** Whether it is a folder without entries. False for a link to one, and for what may not be listed. */
export const isEmptyFolder = (path: string): boolean => entriesOf(path, 0) !== null;

/** Whether there is nothing below it but empty folders. False for more than a few. */
export const holdsNoFile = (path: string): boolean =>
  entriesOf(path, MAX_FOLDERS)?.every(({ name }) => isEmptyFolder(join(path, name))) ?? false;

const MAX_FOLDERS = 16;

/** Null when there are more than so many. It does not read on: there may be very many. */
const entriesOf = (path: string, most: number): readonly Dirent[] | null => {
  try {
    if (!lstatSync(path).isDirectory()) return null;
    using folder = opendirSync(path);
    const entries: Dirent[] = [];
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (entries.length === most) return null;
      entries.push(entry);
    }
    return entries;
  } catch {
    return null;
  }
};

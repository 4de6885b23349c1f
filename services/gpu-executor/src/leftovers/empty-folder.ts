import { lstatSync, opendirSync } from 'node:fs';
import { join } from 'node:path';

// What is asked here for each run takes less in this thread than to hand it to another one.

/** What has a name: nothing, a folder without entries, or anything else, also what may not be looked at. No link is followed. */
export const whatIsAt = (path: string): 'nothing' | 'empty_folder' | 'other' => {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return 'nothing';
    return found.isDirectory() && entriesOf(path, 0) !== null ? 'empty_folder' : 'other';
  } catch {
    return 'other';
  }
};

/** Whether there is nothing below a folder but empty ones. False for more than a few. */
export const holdsNoFile = (path: string): boolean => {
  try {
    const names = entriesOf(path, MAX_FOLDERS);
    return names?.every((name) => whatIsAt(join(path, name)) === 'empty_folder') ?? false;
  } catch {
    return false;
  }
};

const MAX_FOLDERS = 16;

/** Null when there are more than so many. It does not read on: there may be very many. */
const entriesOf = (path: string, most: number): readonly string[] | null => {
  using folder = opendirSync(path);
  const names: string[] = [];
  for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
    if (names.length === most) return null;
    names.push(entry.name);
  }
  return names;
};

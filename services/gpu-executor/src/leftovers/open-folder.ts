import { constants } from 'node:fs';
import { chmod, open, stat } from 'node:fs/promises';

/** Not in Node's constants: a handle that needs no permission to read. */
const O_PATH = 0o10000000;
const FLAGS = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export interface OpenFolder extends AsyncDisposable {
  readonly fd: number;
  /** Leads to the folder that was opened, also when something else has its name by now. */
  readonly path: string;
}

/** @throws when it is no folder, such as a link to one */
export const openFolder = async (path: string): Promise<OpenFolder> => {
  const handle = await open(path, FLAGS);
  return {
    fd: handle.fd,
    path: `/proc/${process.pid}/fd/${handle.fd}`,
    [Symbol.asyncDispose]: () => handle.close(),
  };
};

/** Its mode until now. */
export const changeMode = async (path: string, mode: number): Promise<number> => {
  await using folder = await openFolder(path);
  const before = (await stat(folder.path)).mode & 0o7777;
  await chmod(folder.path, mode);
  return before;
};

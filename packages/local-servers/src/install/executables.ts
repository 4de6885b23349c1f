import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

/** The first executable file of this name in the absolute folders of `PATH`. */
export const findOnPath = async (name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> => {
  for (const folder of (env['PATH'] ?? '').split(delimiter).filter(isAbsolute)) {
    const candidate = join(folder, name);
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
};

export const isExecutable = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
};

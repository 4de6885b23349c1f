import { readFile } from 'node:fs/promises';

/** What the file holds, without the blanks around it; undefined if there is none. @throws the system's error */
export const readSecretFile = async (path: string): Promise<string | undefined> => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};

import { existsSync, readFileSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** The library by which programs talk to NVIDIA's driver; the others of the driver are beside it. */
const LIBRARY = 'libcuda.so.1';
/** Where container engines, WSL and NixOS put it without telling the linker. */
const FOLDERS = [
  '/usr/local/nvidia/lib64',
  '/usr/local/nvidia/lib',
  '/usr/lib/wsl/lib',
  '/run/opengl-driver/lib',
];
const LINKER_CACHE = '/etc/ld.so.cache';

/**
 * The folders in which programs have to look for the driver's libraries, because the linker does not by itself: those that the executor itself was told
 * of by its `LD_LIBRARY_PATH`, as images of NVIDIA do it; else the usual ones, unless the linker knows a driver.
 */
export const driverFolders = (
  libraryPath = '',
  { root = '/', cache = LINKER_CACHE }: { readonly root?: string; readonly cache?: string } = {},
): readonly string[] => {
  const haveIt = (folders: readonly string[]): readonly string[] =>
    [...new Set(folders)].filter((folder) => isAbsolute(folder) && existsSync(join(folder, LIBRARY)));
  const told = haveIt(libraryPath.split(delimiter));
  if (told.length > 0 || isKnownToLinker(cache)) return told;
  return haveIt(FOLDERS.map((folder) => join(root, folder)));
};

const isKnownToLinker = (cache: string): boolean => {
  try {
    return readFileSync(cache).includes(`${LIBRARY}\0`);
  } catch {
    return false;
  }
};

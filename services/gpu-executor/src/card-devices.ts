import type { Logger } from '@runledger/event-log/connect/observability';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, readFileSync } from 'node:fs';
import { join, delimiter, isAbsolute } from 'node:path';

/** NVIDIA, AMD and Intel: what a driver of a graphics card makes. */
const CARD = /^(?:nvidia.*|dri|kfd|dxg)$/;

/** The devices of all graphics cards of the machine. Some appear late: when a module of the driver is loaded, or a card is divided. */
export const cardDevices = (folder = '/dev'): readonly string[] =>
  readdirSync(folder)
    .filter((name) => CARD.test(name))
    .map((name) => join(folder, name));

/** The groups that may use them where not everybody may. Never that of root. */
export const cardGroups = (): readonly number[] => {
  const devices = cardDevices().flatMap((path) =>
    statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path],
  );
  const groups = devices.map((path) => statSync(path)).filter(({ mode }) => (mode & 0o006) !== 0o006);
  return [...new Set(groups.map(({ gid }) => gid))].filter((gid) => gid !== 0);
};

export interface DriverFolders {
  readonly devices: string;
  /** What the kernel shows of NVIDIA's driver while that is loaded. */
  readonly driver: string;
}

const DRIVER_FOLDERS: DriverFolders = { devices: '/dev', driver: '/proc/driver/nvidia' };
const MODPROBE = 'nvidia-modprobe';
const MODPROBE_WITHIN_MS = 10_000;

/**
 * Has the device made that CUDA needs beside those of the cards, if only that is missing: outside of a view CUDA calls the same program, which has the
 * rights of root; inside it cannot. Returns why the device is still missing, and what to do; null when nothing is.
 */
export const makeCudaDevice = (
  path: string,
  { devices, driver }: DriverFolders = DRIVER_FOLDERS,
): string | null => {
  const has = (name: string): boolean => existsSync(join(devices, name));
  if (has('nvidia-uvm') || !(has('nvidiactl') || existsSync(driver))) return null;
  const { error, status, stderr } = spawnSync(MODPROBE, ['-c0', '-u'], {
    env: { PATH: path },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    timeout: MODPROBE_WITHIN_MS,
  });
  if (has('nvidia-uvm')) return null;
  const why =
    error === undefined
      ? `"${MODPROBE} -c0 -u" did not make it (exit code ${status ?? 'none'}) ${stderr.trim().slice(0, 500)}`.trim()
      : `"${MODPROBE} -c0 -u" cannot be run (${'code' in error ? String(error.code) : error.message})`;
  return (
    `the driver of NVIDIA is there and ${join(devices, 'nvidia-uvm')} is not, so CUDA finds no card: ${why}. As root run "modprobe nvidia-uvm" and ` +
    `"${MODPROBE} -c0 -u" when the machine starts (the package ${MODPROBE}); in a container, give it that device too`
  );
};

/** What is missing now may be there later, and every run asks. */
const AGAIN_AFTER_MS = 60_000;
let askedLast = -Infinity;

/** The devices for a view that is made now. That CUDA's is missing is logged, at most once a minute. */
export const devicesForView = (path: string, log: Logger): readonly string[] => {
  if (performance.now() - askedLast >= AGAIN_AFTER_MS) {
    const missing = makeCudaDevice(path);
    if (missing !== null) {
      askedLast = performance.now();
      log.warn({}, missing);
    }
  }
  return cardDevices();
};

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

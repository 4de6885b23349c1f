// Installs the dependencies. Plain JavaScript that Node 20 can run, like node24.mjs.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './node24.mjs';

/**
 * Installs the packages of package-lock.json that are missing. With `omitDev`, those that only tests and checks need may stay
 * missing. Returns whether everything is there now.
 */
export const installWhenNeeded = ({ omitDev = false } = {}) => {
  const named = packagesIn(LOCK_FILE);
  const installed = packagesIn(INSTALLED);
  const programs = Object.fromEntries(Object.entries(named).filter(([, { dev }]) => dev !== true));
  if (holdsAll(omitDev ? programs : named, installed)) return true;
  // What an earlier npm test has installed is not removed again.
  const forPrograms = omitDev && !Object.values(installed).some(({ dev }) => dev);
  // npm ci empties node_modules first, and a program that runs may need it.
  const isAddition = holdsAll(programs, installed);
  const what = forPrograms ? 'the dependencies' : 'the dependencies and what tests need';
  console.error(`Installing ${what} with npm; this takes about a minute.`);
  // npm writes it last: until then everything counts as missing, also after a kill.
  rmSync(join(root, INSTALLED), { force: true });
  return succeeds([
    ...(isAddition ? ['install', '--no-save'] : ['ci']),
    // Said aloud, because NODE_ENV=production would change it.
    forPrograms ? '--omit=dev' : '--include=dev',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]);
};

const LOCK_FILE = 'package-lock.json';
const INSTALLED = 'node_modules/.package-lock.json';

const succeeds = (flags) => {
  // Under npm, the same npm, whose script runs with this Node.
  const npm = process.env.npm_execpath;
  const [file, args] = npm?.endsWith('.js') ? [process.execPath, [npm, ...flags]] : ['npm', flags];
  const { status, error } = spawnSync(file, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return true;
  console.error(
    `npm ${flags[0]} failed${error ? ` (${error.message})` : ''}. Repair the problem above, then try again.`,
  );
  return false;
};

const packagesIn = (lockFile) => {
  const path = join(root, lockFile);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {};
};

// By content and not by time, because git and npm set the times of these files in any order.
const holdsAll = (named, installed) =>
  Object.entries(named)
    .filter(([path]) => path.includes('node_modules/'))
    .every(([path, { version, integrity, optional }]) => {
      const found = installed[path];
      // An optional package may be for another processor or system.
      if (found === undefined) return optional === true;
      return found.version === version && found.integrity === integrity;
    });

// Installs the dependencies. Plain JavaScript that Node 20 can run, like node24.mjs.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './node24.mjs';

/** Installs the dependencies if they differ from package-lock.json. Returns whether they are installed now. */
export const installWhenNeeded = () => {
  if (holdsAll(packagesIn('package-lock.json'), packagesIn('node_modules/.package-lock.json'))) return true;
  console.error('Installing the dependencies with npm ci; this takes about a minute.');
  const flags = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  // Under npm, the same npm, whose script runs with this Node.
  const npm = process.env.npm_execpath;
  const [file, args] = npm?.endsWith('.js') ? [process.execPath, [npm, ...flags]] : ['npm', flags];
  const { status, error } = spawnSync(file, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return true;
  console.error(
    `npm ci failed${error ? ` (${error.message})` : ''}. Repair the problem above, then try again.`,
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

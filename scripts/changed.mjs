// What differs from the branch main, and which tests are nearest to it: for npm run verify -- --changed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join, posix } from 'node:path';
import { root } from './node24.mjs';

/** Files that were changed, added or are new since the branch main, from the root. Deleted ones are left out. */
export const changedFiles = () => {
  const [base = 'HEAD'] = lines('merge-base', 'HEAD', 'main');
  const changed = lines('diff', '--name-only', base);
  const untracked = lines('ls-files', '--others', '--exclude-standard');
  return [...new Set([...changed, ...untracked])].filter((file) => existsSync(join(root, file)));
};

const lines = (...args) =>
  (spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout ?? '').split('\n').filter(Boolean);

export const isCode = (file) => /\.(?:ts|tsx|mjs)$/.test(file);
export const isOfConsole = (file) => file.startsWith('apps/console/src/');

/** A workspace, or the scripts. */
const workspaceOf = (file) => /^(?:(?:packages|services|apps)\/[^/]+|scripts)(?=\/)/.exec(file)?.[0];

/**
 * The tests of one service that are nearest to some files, of the same workspaces: those that were changed, those that import one of the
 * files themselves or by their fixtures, and those that are named after one. `read` gives the text of a file of the workspaces.
 */
export const nearestTests = (changed, read) => {
  const code = new Set(changed.filter(isCode));
  const workspaces = [...new Set([...code].map(workspaceOf).filter(Boolean))];
  return workspaces
    .flatMap((workspace) => read.testsIn(workspace))
    .filter((test) => !/\/(?:system|nightly)\//.test(test))
    .filter((test) => isNamedAfterOne(test, code) || reachesOne(test, code, read));
};

/** `services/gateway/test/runs/list/every-filter.test.ts` and `…/runs/list.test.ts` are named after `services/gateway/src/runs/list.ts`. */
const isNamedAfterOne = (test, changed) =>
  [...changed].some((file) => {
    const name = basename(file, extname(file)).replace(/\.decide$/, '');
    const place = join(dirname(file.replace('/src/', '/test/')), name);
    return file.includes('/src/') && (test === `${place}.test.ts` || test.startsWith(`${place}/`));
  });

const reachesOne = (file, changed, read, seen = new Set()) => {
  if (changed.has(file)) return true;
  if (seen.has(file) || !file.includes('/test/')) return false;
  seen.add(file);
  return importsOf(file, read.text(file)).some((next) => reachesOne(next, changed, read, seen));
};

const importsOf = (file, text) =>
  [...text.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)].map(([, path]) =>
    posix.join(posix.dirname(file), path),
  );

/** The files of this checkout. */
export const CHECKOUT = {
  testsIn: (workspace) =>
    lines('ls-files', '--cached', '--others', '--exclude-standard', `${workspace}/test`).filter(
      (file) => file.endsWith('.test.ts') && existsSync(join(root, file)),
    ),
  text: (file) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''),
};

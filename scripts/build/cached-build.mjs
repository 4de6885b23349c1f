// What is built from sources at a start, and kept until a source changes (ADR 83). Plain JavaScript that Node 20 can run, like node24.mjs.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { findNode24, root } from '../node24.mjs';

/** Older ones stay for programs that run from them, and restart their services from there. */
const KEPT = 3;

/**
 * The folder of the newest build, which is made if there is none of the sources as they are. `maker` is a script that builds into the
 * folder that is its argument, and prints the files that it read, as JSON. @throws Error if it fails
 */
export const cachedBuild = ({ name, maker }) => {
  const home = join(root, 'node_modules', '.cache', name);
  return newest(home) ?? build(home, maker);
};

const recordIn = (home) => join(home, 'newest.json');

const newest = (home) => {
  try {
    const { folder, of, read } = JSON.parse(readFileSync(recordIn(home), 'utf8'));
    const isCurrent = of === root && read.every(([file, mark]) => markOf(file) === mark);
    return isCurrent && existsSync(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
};

/** Changes with the content of a file, as far as its size and time tell. */
const markOf = (file) => {
  const { size, mtimeMs } = statSync(join(root, file));
  return `${size} ${mtimeMs}`;
};

const build = (home, maker) => {
  const started = Date.now();
  const unfinished = join(home, `unfinished-${process.pid}`);
  try {
    mkdirSync(unfinished, { recursive: true });
    const { status, stdout, stderr, error } = spawnSync(findNode24(), [join(root, maker), unfinished], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    if (status !== 0) throw new Error(error?.message ?? stderr.trim());
    // The last one changes with the dependencies.
    const alsoRead = [maker, 'node_modules/.package-lock.json'];
    const files = [...JSON.parse(stdout).map((file) => relative(root, file)), ...alsoRead];
    // What has changed since the start may have been read before or after: the next start builds it again.
    const read = files.map((file) => [
      file,
      statSync(join(root, file)).mtimeMs < started ? markOf(file) : '',
    ]);
    const folder = join(home, nameOf([root, read, started]));
    renameSync(unfinished, folder);
    writeFileSync(`${unfinished}.json`, JSON.stringify({ folder, of: root, read }));
    renameSync(`${unfinished}.json`, recordIn(home));
    removeOld(home);
    return folder;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
};

const nameOf = (parts) => createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);

const removeOld = (home) => {
  const folders = readdirSync(home, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(home, name))
    .map((path) => ({ path, time: statSync(path).mtimeMs }))
    .sort((one, other) => other.time - one.time);
  for (const { path } of folders.slice(KEPT)) rmSync(path, { recursive: true, force: true });
};

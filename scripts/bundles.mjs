// The bundles of the programs that are started often: one file, or a few, instead of a thousand modules (ADR 83). They are made again
// when a source has changed. Plain JavaScript that Node 20 can run, like node24.mjs.
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
import { findNode24, root } from './node24.mjs';

/** Tells programs the folder, so that they start others from there. */
export const BUNDLES = 'RUNLEDGER_BUNDLES';

const HOME = join(root, 'node_modules', '.cache', 'runledger-bundles');
const RECORD = join(HOME, 'newest.json');
const MAKER = 'scripts/make-bundles.mjs';
/** Also read when bundles are made. The second one changes with the dependencies. */
const ALSO_READ = [MAKER, 'node_modules/.package-lock.json'];
/** Older ones stay for programs that run from them, and restart their services from there. */
const KEPT = 3;

/** The folder of bundles of the sources as they are now. Undefined, with the reason on stderr, if they cannot be made. */
export const currentBundles = () => process.env[BUNDLES] ?? newestBundles() ?? makeBundles();

/** The bundle of a source file in this folder, or the source itself if it has none. */
export const bundleOf = (source, folder) => {
  const bundle = folder && join(folder, relative(root, source).replace(/\.ts$/, '.mjs'));
  return bundle && existsSync(bundle) ? bundle : source;
};

const newestBundles = () => {
  try {
    const { folder, of, read } = JSON.parse(readFileSync(RECORD, 'utf8'));
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

const makeBundles = () => {
  const started = Date.now();
  const unfinished = join(HOME, `unfinished-${process.pid}`);
  try {
    mkdirSync(unfinished, { recursive: true });
    const { status, stdout, stderr, error } = spawnSync(findNode24(), [join(root, MAKER), unfinished], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    if (status !== 0) throw new Error(error?.message ?? stderr.trim());
    const files = [...JSON.parse(stdout).map((file) => relative(root, file)), ...ALSO_READ];
    // What has changed since the start may have been read before or after: the next start makes them again.
    const read = files.map((file) => [
      file,
      statSync(join(root, file)).mtimeMs < started ? markOf(file) : '',
    ]);
    const folder = join(
      HOME,
      createHash('sha256')
        .update(JSON.stringify([root, read, started]))
        .digest('hex')
        .slice(0, 16),
    );
    renameSync(unfinished, folder);
    writeFileSync(`${unfinished}.json`, JSON.stringify({ folder, of: root, read }));
    renameSync(`${unfinished}.json`, RECORD);
    removeOld();
    return folder;
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    console.error(`Starting from source, which takes longer: the bundles cannot be made. ${error.message}`);
    return undefined;
  }
};

const removeOld = () => {
  const folders = readdirSync(HOME, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(HOME, name))
    .map((path) => ({ path, time: statSync(path).mtimeMs }))
    .sort((one, other) => other.time - one.time);
  for (const { path } of folders.slice(KEPT)) rmSync(path, { recursive: true, force: true });
};

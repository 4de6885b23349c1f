import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import type { Logger } from '@runledger/event-log/connect/observability';
import { codeOf } from '@runledger/resilience/errors';
import pLimit from 'p-limit';
import type { Withheld } from '../isolation/isolation.ts';
import { hashFile } from '../folders/file-hash.ts';
import type { OperatorCommand } from '../runners/operator-command.ts';
import { isOfSystem } from '../isolation/hidden-paths.ts';
import { codePaths } from './program-view.ts';
import { isWithin } from './real-paths.ts';
import { SOURCES } from './tool-paths.ts';

/**
 * Looks at the code of a program, unless a look is at most so old: 0 by default. Resolves with a hash of its files, which is the same on every machine that has the same ones; null when it
 * has none of its own, such as a command of the system, or more than can be looked at.
 */
export type LookAtCode = (maxAgeMs?: number) => Promise<string | null>;

/** Beside sources and whatever may be executed. Models, settings and what a program writes are no code. */
const COMPILED = new Set('.class .jar .node .pyd .so .wasm'.split(' '));
/** What an interpreter makes of sources, and what tools keep beside them. */
const NO_CODE = new Set(['__pycache__', '.cache', '.git', '.hg', '.svn']);
/** Folders of the system in which operators install programs of their own, and what programs have in common there. */
const OF_OPERATORS = ['/opt', '/usr/local'];
const IN_COMMON = new Set(
  ['', '/bin', '/include', '/lib', '/sbin', '/share'].flatMap((name) => [`/opt${name}`, `/usr/local${name}`]),
);
/** What is installed into one of these changes its own time too, so that it is looked at only then. */
const PACKAGES = new Set(['dist-packages', 'node_modules', 'site-packages']);
/** Written by pip, npm, pnpm and yarn: what they have installed, with hashes. */
const RECORDS = new Set(['RECORD', '.package-lock.json', '.modules.yaml', '.yarn-integrity']);
const MOST_FILES = 50_000;
const AT_ONCE = 32;
/** Of a longer file that may be executed, which is a model rather than code, the ends. */
const WHOLE_BYTES = 64 * 1024 ** 2;
const END_BYTES = 1024 ** 2;
/** Looking at more files than these, without packages, would be noticed by a run: it holds for a while. */
const FEW_FILES = 2_000;
const HOLDS_MS = 5_000;

/** Reads a file again only when its times or its size say that it may have changed. */
export const programCode = (command: OperatorCommand, withheld: Withheld, log: Logger): LookAtCode => {
  const known: Known = { files: new Map(), packages: new Map() };
  let latest: { readonly code: Promise<string | null>; readonly began: number; holdsMs: number } | undefined;
  const look = async (): Promise<{ readonly code: string | null; readonly holdsMs: number }> => {
    try {
      const found = await linesOf(codePaths(command, withheld), known);
      const hash = createHash('sha256').update(found.lines.toSorted().join(''));
      const holdsMs = found.looked > FEW_FILES ? HOLDS_MS : 0;
      return { code: found.lines.length === 0 ? null : hash.digest('hex'), holdsMs };
    } catch (err) {
      log.warn({ command: command.command, err }, 'the code of a program cannot be known');
      return { code: null, holdsMs: err instanceof TooMany ? Infinity : HOLDS_MS };
    }
  };
  return (maxAgeMs = 0) => {
    const began = performance.now();
    if (latest && began - latest.began < Math.max(maxAgeMs, latest.holdsMs)) return latest.code;
    const begun = {
      code: look().then(({ code, holdsMs }) => {
        begun.holdsMs = holdsMs;
        return code;
      }),
      began,
      holdsMs: 0,
    };
    latest = begun;
    return begun.code;
  };
};

class TooMany extends Error {
  override readonly name = 'TooMany';
}

interface Known {
  readonly files: Map<string, KnownFile>;
  readonly packages: Map<string, { readonly identity: string; readonly lines: readonly string[] }>;
}

interface KnownFile {
  /** What changes when the file does. */
  readonly identity: string;
  readonly sha256: string;
}

interface Found {
  /** A line for each file of code: its name below what leads to it, so that it does not matter where that is, and its hash. */
  readonly lines: string[];
  /** How many files it took. */
  looked: number;
}

/** @throws TooMany */
const linesOf = async (paths: readonly string[], known: Known): Promise<Found> => {
  const found: Found = { lines: [], looked: 0 };
  for (const [n, root] of (await rootsOf(paths)).entries()) {
    const isFolder = (await stat(root).catch(() => null))?.isDirectory() === true;
    if (isFolder) await contentOf(root)(root, `${n}`, known, found);
    else await addFiles([{ path: root, name: `${n}/${basename(root)}` }], known, found);
  }
  return found;
};

/** None of them is in another one, and none is of the system. */
const rootsOf = async (paths: readonly string[]): Promise<string[]> => {
  const reals = new Set<string>();
  for (const path of paths) {
    const real = await realpath(path).catch(() => null);
    if (real === null || IN_COMMON.has(real)) continue;
    if (!isOfSystem(real, []) || isWithin(OF_OPERATORS, real)) reals.add(real);
  }
  return [...reals].filter(
    (root) =>
      !isWithin(
        [...reals].filter((other) => other !== root),
        root,
      ),
  );
};

interface CodeFile {
  readonly path: string;
  readonly name: string;
}

/** Links are not followed: what they lead to is found where it is. */
const addFolder = async (folder: string, name: string, known: Known, found: Found): Promise<void> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  if (entries.some(({ name: own }) => own === 'lib') && (await addPython(folder, name, known, found))) return;
  const below = entries.map((entry) => ({
    entry,
    path: join(folder, entry.name),
    name: `${name}/${entry.name}`,
  }));
  await addFiles(
    below.filter(({ entry }) => entry.isFile()),
    known,
    found,
  );
  for (const { entry, ...inside } of below)
    if (entry.isDirectory() && !NO_CODE.has(entry.name))
      await contentOf(entry.name)(inside.path, inside.name, known, found);
};

const contentOf = (folder: string): typeof addFolder =>
  PACKAGES.has(basename(folder)) ? addPackages : addFolder;

/** Of a Python that is installed, as an environment or by a tool, what was installed into it. False for any other folder. */
const addPython = async (folder: string, name: string, known: Known, found: Found): Promise<boolean> => {
  const libraries = (await namesIn(join(folder, 'lib'))).filter((one) => /^python3\.\d+$/.test(one));
  if (libraries.length === 0) return false;
  for (const library of libraries) {
    const packages = join(folder, 'lib', library, 'site-packages');
    if ((await namesIn(packages)).length > 0) await addPackages(packages, `${name}/${library}`, known, found);
  }
  found.lines.push(...(await namesIn(join(folder, 'conda-meta'))).map((one) => `${name}/${one}\n`));
  return true;
};

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** As their installers say what they are: nobody reads gigabytes of packages to know which they are. */
const addPackages = async (folder: string, name: string, known: Known, found: Found): Promise<void> => {
  const identity = `${name} ${identityOf(await stat(folder, { bigint: true }))}`;
  const before = known.packages.get(folder);
  if (before?.identity === identity) return void found.lines.push(...before.lines);
  const inside: Found = { lines: [], looked: 0 };
  const entries = await readdir(folder, { withFileTypes: true });
  const packages = entries.filter((entry) => entry.isDirectory() && !NO_CODE.has(entry.name));
  inside.lines.push(...packages.map((entry) => `${name}/${entry.name}/\n`));
  const records = entries.flatMap((entry) => {
    if (entry.isFile()) return [entry.name];
    return entry.name.endsWith('.dist-info') ? [`${entry.name}/RECORD`] : [];
  });
  const files = records.map((record) => ({ path: join(folder, record), name: `${name}/${record}` }));
  await addFiles(files, known, inside);
  known.packages.set(folder, { identity, lines: inside.lines });
  found.lines.push(...inside.lines);
};

const addFiles = async (files: readonly CodeFile[], { files: known }: Known, found: Found): Promise<void> => {
  found.looked += files.length;
  if (found.looked > MOST_FILES) throw new TooMany(`it has more than ${MOST_FILES} files`);
  await pLimit(AT_ONCE).map(files, async ({ path, name }) => {
    const read = await readCode(path, known.get(path));
    if (read === null) return void known.delete(path);
    known.set(path, read);
    found.lines.push(`${name}\0${read.sha256}\n`);
  });
};

/** Null for what is no code, is gone, or cannot be read by the executor. */
const readCode = async (path: string, before: KnownFile | undefined): Promise<KnownFile | null> => {
  try {
    const now = await stat(path, { bigint: true });
    const isSource = SOURCES.has(extname(path)) || COMPILED.has(extname(path)) || RECORDS.has(basename(path));
    if (!isSource && (now.mode & 0o111n) === 0n) return null;
    const identity = identityOf(now);
    return before?.identity === identity
      ? before
      : { identity, sha256: await hashOf(path, Number(now.size)) };
  } catch (error) {
    if (GONE.has(codeOf(error))) return null;
    throw error;
  }
};

const identityOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [ino, size, mtimeNs, ctimeNs].join('.');

const GONE = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EISDIR']);

const hashOf = async (path: string, size: number): Promise<string> => {
  await using file = await open(path);
  const hash = createHash('sha256');
  const isWhole = size <= WHOLE_BYTES;
  const spans = isWhole ? [{ start: 0 }] : [{ start: 0, end: END_BYTES - 1 }, { start: size - END_BYTES }];
  if (!isWhole) hash.update(`${size}\n`);
  for (const span of spans) await hashFile(hash, file, span);
  return hash.digest('hex');
};

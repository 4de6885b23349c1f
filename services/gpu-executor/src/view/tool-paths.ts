import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, isAbsolute, join, sep } from 'node:path';
import { interpretersOf, isFile, startsAsProgram } from './interpreters.ts';
import { realPath, realPaths, wayTo } from './real-paths.ts';

/** What a path leads to that runs from there. */
export interface Leads {
  /** Files and folders that are named, each by whoever names it. */
  readonly named: readonly string[];
  /** Folders around them, with what they need. */
  readonly around: readonly string[];
}

/** Where it is looked for. */
export interface Surroundings {
  /** The `PATH` of the program. */
  readonly path: string;
  /** Whether a program may have made what is there. */
  readonly isWritten: (path: string) => boolean;
}

const NOTHING: Leads = { named: [], around: [] };
/** More are no interpreters of one command. */
const MAX_TOOLS = 32;
const TOOL_FOLDERS = new Set(['bin', 'shims']);
export const SOURCES: ReadonlySet<string> = new Set(
  '.bash .cjs .cts .jl .js .lua .mjs .mts .php .pl .py .pyz .r .R .rb .sh .ts'.split(' '),
);

/**
 * What a command needs to run: the folder that it is in, the one where it is installed, the Python behind a virtual environment, and the
 * interpreter of its `#!` line or its loader. Of what a program may have made, only what leads to a Python counts.
 */
export const leadsOfTool = (file: string, where: Surroundings, isMade = false): Leads => {
  const seen = new Set<string>();
  const leadsOf = (path: string, isMadeBefore: boolean): Leads => {
    const way = seen.has(path) || seen.size > MAX_TOOLS ? null : wayTo(path);
    seen.add(path);
    if (way === null) return NOTHING;
    const links = way.links.map((link) => link.path);
    const isMadeHere = isMadeBefore || links.some(where.isWritten);
    if (isMadeHere && !isPython(way.real)) return NOTHING;
    const isGiven = (by: string): boolean => !isMadeHere && !where.isWritten(by);
    // A program could change its links before they are followed again.
    const lasting = [path, ...links].filter(isGiven);
    const files = [...new Set([...lasting.filter((stop) => realPath(stop) === way.real), way.real])];
    const installed = [...new Set(files.filter(isInstalled).map((stop) => dirname(dirname(stop))))];
    const named = isMadeHere ? [way.real] : [path];
    const outside = isMadeHere ? links.filter((link) => !where.isWritten(link)) : [];
    return joined([
      { named, around: [...outside, ...files.map(dirname), ...installed, ...packagesAround(way.real)] },
      ...installed.flatMap((folder) => pythonsOf(folder).map((python) => leadsOf(python, !isGiven(folder)))),
      ...[...new Set(realPaths(installed))].filter(isGiven).map(linkedFrom),
      ...interpretersOf(way.real, where.path).map((each) => leadsOf(each, !isGiven(way.real))),
    ]);
  };
  return leadsOf(file, isMade);
};

/** What a path in an argument leads to: a file of source has its folder with it, a program all that it needs, anything else nothing more. */
export const leadsOfArgument = (path: string, where: Surroundings): Leads => {
  const way = wayTo(path);
  if (way === null || way.links.some((link) => where.isWritten(link.path))) return NOTHING;
  if (isProgram(way.real)) return leadsOfTool(path, where);
  const around = isFile(way.real) && SOURCES.has(extname(way.real)) ? [dirname(path), dirname(way.real)] : [];
  return { named: [path], around };
};

/** A folder of commands, as in `PATH`: a virtual environment comes with it. */
export const leadsOfFolder = (folder: string, where: Surroundings): Leads =>
  basename(folder) === 'bin'
    ? joined(pythonsOf(dirname(folder)).map((python) => leadsOfTool(python, where, where.isWritten(folder))))
    : NOTHING;

const joined = (all: readonly Leads[]): Leads => ({
  named: all.flatMap(({ named }) => named),
  around: all.flatMap(({ around }) => around),
});

const isInstalled = (file: string): boolean =>
  TOOL_FOLDERS.has(basename(dirname(file))) && dirname(dirname(file)) !== sep;

/** Of a virtual environment; `bin/python` may be a copy of the one behind it. */
const pythonsOf = (folder: string): string[] => {
  const [, home] = /^home\s*=\s*(\/.*?)\s*$/m.exec(textOf(join(folder, 'pyvenv.cfg'))) ?? [];
  return home === undefined ? [] : [join(folder, 'bin/python'), join(home, 'python3'), join(home, 'python')];
};

/** Versions of pyenv that are elsewhere, and packages that are installed where they are edited. */
const linkedFrom = (folder: string): Leads => {
  const libraries = namesIn(join(folder, 'lib')).filter((name) => /^python3\.\d+$/.test(name));
  const packages = libraries.map((name) => join(folder, 'lib', name, 'site-packages'));
  const edited = packages.flatMap((path) =>
    namesIn(path)
      .filter((name) => name.endsWith('.pth'))
      .flatMap((name) =>
        textOf(join(path, name))
          .split('\n')
          .map((line) => line.trim()),
      )
      .filter(isAbsolute),
  );
  const versions = existsSync(join(folder, 'shims')) ? namesIn(join(folder, 'versions')) : [];
  return { named: [], around: [...edited, ...versions.map((name) => join(folder, 'versions', name))] };
};

/** The outermost `node_modules` that the file is in. */
const packagesAround = (file: string): string[] => {
  const [, above] = /^(.*?\/node_modules)\//.exec(file) ?? [];
  return above === undefined ? [] : [above];
};

const isProgram = (file: string): boolean => startsAsProgram(file) && (statSync(file).mode & 0o111) !== 0;

const isPython = (file: string): boolean =>
  basename(dirname(file)) === 'bin' &&
  namesIn(join(dirname(dirname(file)), 'lib')).some((name) => /^python3\.\d+$/.test(name));

/** Empty when there is none, or it may not be read. */
const textOf = (file: string): string => tried(file, '', () => readFileSync(file, 'utf8'));

const namesIn = (folder: string): string[] => tried(folder, [], () => readdirSync(folder));

const tried = <Read>(path: string, nothing: Read, read: () => Read): Read => {
  if (!existsSync(path)) return nothing;
  try {
    return read();
  } catch {
    return nothing;
  }
};

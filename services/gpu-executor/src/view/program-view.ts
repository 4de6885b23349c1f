import { delimiter, isAbsolute, basename, dirname } from 'node:path';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import type { GpuSlot } from '../gpu-slots.ts';
import { type View, type Withheld, isViewless, type Isolation } from '../isolation/isolation.ts';
import { isWithin, realPath, realPaths, wayTo, type Way } from './real-paths.ts';
import type { OperatorCommand } from '../runners/operator-command.ts';
import { leadsOfArgument, leadsOfFolder, leadsOfTool, type Surroundings } from './tool-paths.ts';
import { isOfSystem } from '../isolation/hidden-paths.ts';
import { whyNotStartable, whyUnusable, type Seen } from './why-not-started.ts';
import type { ConfiguredEntry } from '../runners/runner-type.ts';
import { INSTALLATION } from '../isolation/supervisor-code.ts';

/**
 * What the process of a command may see: what its operator names, and what that leads to.
 * @throws when something that its operator names cannot be shown
 */
export const programView = (
  command: OperatorCommand,
  { device, libraries = [] }: Pick<GpuSlot, 'device' | 'libraries'>,
  withheld: Withheld,
): View => {
  const { writable = [], network = 'outgoing', resources = {} } = command;
  const wrong = wrongPaths(command, withheld)[0];
  if (wrong !== undefined) throw new Error(wrong);
  return {
    readable: [...namedBy(command, withheld), ...libraries, ...foundFor(command, withheld).shown],
    writable,
    scratch: [],
    network,
    cards: device !== '',
    resources,
  };
};

/** Where the code of a command is: what its operator names, and what that leads to, without what programs write. */
export const codePaths = (command: OperatorCommand, withheld: Withheld): string[] => {
  const written = [...withheld.written, ...realPaths(command.writable ?? [])];
  return [...namedBy(command, withheld), ...foundFor(command, withheld).shown].filter((path) => {
    const real = realPath(path);
    return real !== null && !isWithin(written, real);
  });
};

/** One sentence, with what to do, for each path that the entry names and that cannot be shown. */
const wrongPaths = (command: OperatorCommand, { written }: Withheld): string[] => {
  const { readable = [], writable = [], cwd } = command;
  const named = { readable, writable, cwd: cwd === undefined ? [] : [cwd] };
  return Object.entries(named).flatMap(([member, paths]) =>
    paths.flatMap((path) => {
      const what = `${path}, which its entry names as ${member},`;
      const way = wayTo(path);
      if (way === null) return [`${what} does not exist: make or mount it, or take it out of the entry`];
      const link = linkOut(way, written);
      return link === null
        ? []
        : [`${what} leads through ${link}, which a program may have made: name ${way.real} instead`];
    }),
  );
};

/** The link on the way out of where programs write, if there is one. */
const linkOut = ({ real, links }: Way, written: readonly string[]): string | null =>
  isWithin(written, real) ? null : (links.find(({ path }) => isWithin(written, path))?.path ?? null);

/** The folders and files that its operator says it may read. */
const namedBy = ({ env, cwd, readable = [] }: OperatorCommand, { written }: Withheld): string[] => {
  const searched = SEARCHED_FOLDERS.flatMap((variable) => (env[variable] ?? '').split(delimiter));
  return [...searched, ...(cwd === undefined ? [] : [cwd]), ...readable].filter((path) => {
    const way = isAbsolute(path) && path !== '/' ? wayTo(path) : null;
    return way !== null && linkOut(way, written) === null;
  });
};

/** Variables of an entry that name folders with its programs and libraries. */
const SEARCHED_FOLDERS = ['PATH', 'PYTHONPATH', 'LD_LIBRARY_PATH'];

interface Found {
  readonly shown: readonly string[];
  /** What is named and not shown all the same, each with the reason. */
  readonly withheld: readonly { readonly path: string; readonly why: string }[];
}

interface Judged {
  readonly path: string;
  /** Null when it may be shown. */
  readonly why: string | null;
}

/** What its command, its arguments and its PATH lead to, by the rule of ADR 141. */
export const foundFor = (command: OperatorCommand, withheld: Withheld): Found => {
  const { args, env, path = '', readable = [], writable = [], cwd } = command;
  const own = realPaths([...readable, ...writable, ...(cwd === undefined ? [] : [cwd])]);
  const written = [...withheld.written, ...realPaths(writable)];
  const where: Surroundings = { path: env['PATH'] ?? path, isWritten: (file) => isWithin(written, file) };
  const leads = [
    leadsOfTool(command.command, where),
    ...pathsIn(args).map((each) => leadsOfArgument(each, where)),
    ...(env['PATH'] ?? '').split(delimiter).map((folder) => leadsOfFolder(folder, where)),
  ];
  const writtenByOthers = withheld.written.filter((each) => !isWithin(own, each));
  const judge = (paths: readonly string[], why: (real: string) => string | null): Judged[] =>
    [...new Set(paths)].flatMap((each) => {
      const real = realPath(each);
      if (real === null) return [];
      return [{ path: each, why: isWithin(own, real) ? null : why(real) }];
    });
  const judged = [
    ...judge(
      leads.flatMap(({ named }) => named),
      (real) => whyWithheld(real, withheld),
    ),
    ...judge(
      leads.flatMap(({ around }) => around),
      (real) => whyFolderWithheld(real, { ...withheld, written: writtenByOthers }),
    ),
  ];
  return {
    shown: judged.filter(({ why }) => why === null).map((each) => each.path),
    withheld: judged.flatMap(({ path: each, why }) => (why === null ? [] : [{ path: each, why }])),
  };
};

/** The arguments that are absolute paths, and what follows an `=` where that is one. */
const pathsIn = (args: readonly string[]): string[] =>
  args.flatMap((argument) => {
    const [, path] = /(?:^|=)(\/.*)$/s.exec(argument) ?? [];
    return path === undefined || path.includes('\0') ? [] : [path];
  });

/** What is not shown only because a command or an argument leads there. */
export const withheldFrom = (entries: readonly ConfiguredEntry[], own: readonly string[]): Withheld => ({
  own: realPaths(own),
  written: realPaths(entries.flatMap(({ command: { writable = [] } }) => writable)),
});

/** What the programs of entries would miss, found before any run does: a sentence each, with what to do. */
export const checkViews = (
  entries: readonly ConfiguredEntry[],
  isolation: Isolation,
  withheld: Withheld,
): readonly string[] =>
  entries.flatMap(({ name, command }) => {
    const wrong = wrongPaths(command, withheld);
    if (wrong.length > 0) return wrong.map((each) => `${name} cannot run: ${each}`);
    const user = isolation.users.acquire();
    isolation.users.release(user);
    const view = programView(command, { device: '' }, withheld);
    const unusable = closedTo({ isolation, view, user }, command);
    return [
      ...unusable.map((each) => `${name} cannot run: ${each}`),
      ...(isViewless(isolation) ? [] : notVisible(command, withheld)).map(
        (each) => `${name} does not see ${each}`,
      ),
    ];
  });

const closedTo = (
  seen: Seen,
  { command, readable = [], env, path = '' }: ConfiguredEntry['command'],
): string[] => {
  const whys = [
    whyNotStartable(command, env['PATH'] ?? path, seen),
    ...realPaths(readable).map((each) => whyUnusable(each, 'read', seen)),
  ];
  return [...new Set(whys.filter((why) => why !== null))];
};

const notVisible = (command: ConfiguredEntry['command'], withheld: Withheld): string[] =>
  foundFor(command, withheld)
    .withheld.filter(({ path }) => !isOfSystem(path, []))
    .map(({ path, why }) => `${path}, because ${why}: name what it needs there as "readable" of its entry`);

/** Why what a command or an argument leads to is not shown, as the end of a sentence; null when it may be. The path is real. */
const whyWithheld = (path: string, { own }: Withheld): string | null => {
  if (isOfAll(path)) return 'it is a folder of the machine, or a home';
  const isOwn = own.some((each) => isWithin([each], path) || isWithin([path], each));
  return isOwn || isWithin([path], INSTALLATION) ? 'it is, holds or is in a folder of the executor' : null;
};

/** The same for a folder that nobody has named, and that is shown for what is in it. */
const whyFolderWithheld = (path: string, withheld: Withheld): string | null => {
  if (isBroad(path)) return 'it holds more than a program';
  const isWritten = withheld.written.some((each) => isWithin([each], path) || isWithin([path], each));
  return isWritten ? 'it is, holds or is in a folder that programs write' : whyWithheld(path, withheld);
};

/** Those that every Linux has. */
const OF_ALL = new Set(
  '/ /bin /boot /dev /dev/shm /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /var /var/tmp'.split(
    ' ',
  ),
);
/** In these nothing is of one program alone. */
const NEVER = ['/dev', '/etc', '/proc', '/run', '/sys'];
/** What is in one of these has one owner, or is a disk. */
const WITH_OWNERS = new Set(['/home', '/media', '/mnt', '/var']);
/** Of a home, where programs keep what they know of its owner. */
const PERSONAL = new Set(['.cache', '.config', '.local']);
const FIRST_PERSON = 1000;
const NOBODY = 65_534;

/** Of people: a service may live where its program is. */
const homes: ReadonlySet<string> = new Set([
  '/root',
  homedir(),
  ...readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([, , uid = '0']) => Number(uid) >= FIRST_PERSON && Number(uid) < NOBODY)
    .map(([, , , , , home = '']) => realPath(home) ?? home),
]);

const isHome = (path: string): boolean => homes.has(path) || dirname(path) === '/home';

const isOfAll = (path: string): boolean =>
  OF_ALL.has(path) || isWithin(['/proc', '/sys'], path) || isHome(path);

const isBroad = (path: string): boolean =>
  isWithin(NEVER, path) ||
  WITH_OWNERS.has(dirname(path)) ||
  (PERSONAL.has(basename(path)) && isHome(dirname(path))) ||
  (basename(dirname(path)) === '.local' && isHome(dirname(dirname(path))) && basename(path) !== 'bin');

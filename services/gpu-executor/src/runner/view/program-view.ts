import { delimiter, isAbsolute } from 'node:path';
import type { GpuSlot } from '../../gpu/gpu-slots.ts';
import type { View, Withheld } from '../../isolation/isolation.ts';
import { isWithin, realPath, realPaths } from '../../paths/real-paths.ts';
import { wayTo, type Way } from '../../paths/way-to.ts';
import type { OperatorCommand } from '../operator-command.ts';
import { leadsOfArgument, leadsOfFolder, leadsOfTool, type Surroundings } from './tool-paths.ts';
import { whyFolderWithheld, whyWithheld } from './withheld.ts';

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

/** One sentence, with what to do, for each path that the entry names and that cannot be shown. */
export const wrongPaths = (command: OperatorCommand, { written }: Pick<Withheld, 'written'>): string[] => {
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
const namedBy = (
  { env, cwd, readable = [] }: OperatorCommand,
  { written }: Pick<Withheld, 'written'>,
): string[] => {
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

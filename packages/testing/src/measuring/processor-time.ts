import { readdirSync, readFileSync } from 'node:fs';

/** Of `/proc` on Linux: hundredths of a second, on every machine that Node runs on. */
const MS_PER_TICK = 10;

/** The processor time in ms of a process and its descendants, with those that ended and were waited for. */
export const processorTime = (root: number = process.pid): number =>
  familyOf(root).reduce((sum, { ms }) => sum + ms, 0);

/** The same, by what `nameOf` makes of each command line. */
export const processorTimes = (
  root: number,
  nameOf: (commandLine: string) => string,
): ReadonlyMap<string, number> => {
  const times = new Map<string, number>();
  for (const { pid, ms } of familyOf(root)) {
    const name = nameOf(commandLineOf(pid));
    times.set(name, (times.get(name) ?? 0) + ms);
  }
  return times;
};

/** With spaces between the arguments; nothing of a process that has ended. */
export const commandLineOf = (pid: number): string =>
  read(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ') ?? '';

export interface ProcessTime {
  readonly pid: number;
  readonly parent: number;
  readonly ms: number;
}

/** A process and its descendants. */
export const familyOf = (root: number): ProcessTime[] => [
  ...timeOf(root),
  ...childrenOf(root).flatMap((child) => familyOf(child)),
];

/** Each thread knows the processes that it started. */
const childrenOf = (pid: number): number[] =>
  threadsOf(pid).flatMap((thread) =>
    (read(`/proc/${pid}/task/${thread}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  );

const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
};

/** Nothing of a process that has ended. */
const timeOf = (pid: number): ProcessTime[] => {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return [];
  // Behind the name, which may hold anything but is in brackets.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent = 0] = fields;
  // utime, stime, cutime and cstime
  return [{ pid, parent, ms: MS_PER_TICK * fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) }];
};

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readFileSync, readdirSync } from 'node:fs';

export interface CommandCost {
  readonly wallMs: number;
  /** Of all its processes. */
  readonly processorMs: number;
  readonly stdout: string;
}

/** What a command takes from its start to its end, in ms, measured by bash. @throws when it fails */
export const commandCost = async (
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandCost> => {
  const script = `TIMEFORMAT='%R %U %S'; time "$@"`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script, 'bash', ...command], { env });
  const [wall = 0, user = 0, system = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return { stdout, wallMs: wall * 1_000, processorMs: (user + system) * 1_000 };
};

/**
 * The memory in MiB of a process and its descendants now, by what `nameOf` makes of each command line. Pages that processes share count once
 * (proportional set size, of `/proc` on Linux).
 */
export const memoryByName = (
  root: number,
  nameOf: (commandLine: string) => string,
): ReadonlyMap<string, number> => sumsByName(root, nameOf, ({ pid }) => proportionalMiB(pid));

const sumsByName = (
  root: number,
  nameOf: (commandLine: string) => string,
  of: (process: ProcessTime) => number,
): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>();
  for (const one of familyOf(root)) {
    const name = nameOf(commandLineOf(one.pid));
    sums.set(name, (sums.get(name) ?? 0) + of(one));
  }
  return sums;
};

/** Nothing of a process that has ended. */
const proportionalMiB = (pid: number): number =>
  Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0) / 1_024;

/** Of `/proc` on Linux: hundredths of a second, on every machine that Node runs on. */
const MS_PER_TICK = 10;

/** The processor time in ms of a process and its descendants, with those that ended and were waited for. */
export const processorTime = (root: number = process.pid): number =>
  familyOf(root).reduce((sum, { ms }) => sum + ms, 0);

/** The same, by what `nameOf` makes of each command line. */
export const processorTimes = (
  root: number,
  nameOf: (commandLine: string) => string,
): ReadonlyMap<string, number> => sumsByName(root, nameOf, ({ ms }) => ms);

/** With spaces between the arguments; nothing of a process that has ended. */
export const commandLineOf = (pid: number): string =>
  read(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ') ?? '';

interface ProcessTime {
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

/** The value that this part of the values does not exceed; 0 without values. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.ceil(part * sorted.length) - 1] ?? sorted[0] ?? 0;
};

/**
 * What a call of `work` costs, by the cost of a fixed piece of work that takes turns with it: about microseconds on a processor of 2026, and
 * the same on any. Of each only the fastest turn counts, so that other work on the machine changes nothing, and they go on until neither gets
 * faster, so that it does not count how far the engine has compiled them.
 */
export const relativeCost = (work: (call: number) => unknown): number => {
  let calls = 0;
  const turn = (count: number): void => {
    for (let n = 0; n < count; n += 1) work((calls += 1));
  };
  const count = callsOfATurn(turn);
  let [own, fixed] = [Infinity, Infinity];
  for (let settled = 0; settled < SETTLED; settled += 1) {
    const [ownTurn, fixedTurn] = [durationOf(() => turn(count)), durationOf(fixedWork)];
    if (ownTurn < FASTER * own || fixedTurn < FASTER * fixed) settled = 0;
    own = Math.min(own, ownTurn);
    fixed = Math.min(fixed, fixedTurn);
  }
  return (own / count / fixed) * FIXED_COST;
};

/** So many turns in which neither got faster by a fiftieth. */
const SETTLED = 1_000;
const FASTER = 0.98;
const TURN_MS = 0.5;
/** So much, because the fixed piece took so many microseconds when it was written. */
const FIXED_COST = 300;
const FIXED_ITEMS = 1_000;

const durationOf = (work: () => void): number => {
  const began = performance.now();
  work();
  return performance.now() - began;
};

/** As many as fill a turn, once the engine has compiled them. */
const callsOfATurn = (turn: (count: number) => void): number => {
  for (let count = 1; ; count *= 2) {
    const took = Math.min(...Array.from({ length: 8 }, () => durationOf(() => turn(count))));
    if (took >= TURN_MS) return count;
  }
};

/** Of what services do: objects, texts, maps and sorting. */
const fixedWork = (): void => {
  const byName = new Map<string, { readonly n: number; readonly text: string }>();
  for (let n = 0; n < FIXED_ITEMS; n += 1) {
    const text = `item-${(n * 7_919) % FIXED_ITEMS}`;
    byName.set(text, { n, text });
  }
  const sorted = [...byName.values()].toSorted((a, b) => (a.text < b.text ? -1 : 1));
  if (JSON.stringify(sorted).length < FIXED_ITEMS) throw new Error('the fixed work changed');
};

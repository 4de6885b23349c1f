import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

const read = (pid: number): Process | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || parent === undefined) return undefined;
    return {
      pid,
      parent: Number(parent),
      command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim(),
    };
  } catch {
    return undefined; // it ended while we looked
  }
};

/** Every process of this machine that is not a zombie. */
const processes = (): Process[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => read(Number(name)) ?? []);

/** The process and all that it started, directly or not. */
export const descendants = (pid: number): Process[] => {
  const all = processes();
  const found = new Set([pid]);
  for (let grown = true; grown;) {
    const before = found.size;
    for (const process of all) if (found.has(process.parent)) found.add(process.pid);
    grown = found.size > before;
  }
  return all.filter((process) => found.has(process.pid));
};

export const isAlive = (pid: number): boolean => read(pid) !== undefined;

/** Those of its descendants whose command line has this part; what only watches over them is none. */
export const descendantsOf = (pid: number, part: string): number[] =>
  descendants(pid)
    .filter(({ command }) => command.includes(part) && !command.includes('kill-with-parent'))
    .map((process) => process.pid);

/** Ends them as a power cut would. */
export const kill9 = (pid: number, part: string): void => {
  const found = descendantsOf(pid, part);
  if (found.length === 0) throw new Error(`no process of ${part} runs`);
  for (const one of found) process.kill(one, 'SIGKILL');
};

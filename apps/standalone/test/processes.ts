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

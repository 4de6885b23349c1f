import { readFileSync } from 'node:fs';
import { familyOf, commandLineOf } from './processor-time.ts';

/**
 * The memory in MiB of a process and its descendants now, by what `nameOf` makes of each command line. Pages that processes share count once
 * (proportional set size, of `/proc` on Linux).
 */
export const memoryByName = (
  root: number,
  nameOf: (commandLine: string) => string,
): ReadonlyMap<string, number> => {
  const memory = new Map<string, number>();
  for (const { pid } of familyOf(root)) {
    const name = nameOf(commandLineOf(pid));
    memory.set(name, (memory.get(name) ?? 0) + proportionalMiB(pid));
  }
  return memory;
};

/** Nothing of a process that has ended. */
const proportionalMiB = (pid: number): number => {
  try {
    const kib = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1];
    return Number(kib ?? 0) / 1_024;
  } catch {
    return 0;
  }
};

import { readFile } from 'node:fs/promises';

/** How many processes the kernel has killed since its start because memory was short; 0 where it does not count them. */
export const countOomKills = async (): Promise<number> => {
  try {
    return oomKillsIn(await readFile('/proc/vmstat', 'utf8'));
  } catch {
    return 0;
  }
};

export const oomKillsIn = (vmstat: string): number => Number(/^oom_kill (\d+)$/m.exec(vmstat)?.[1] ?? 0);

import { readFileSync } from 'node:fs';

/**
 * How many processes the kernel has killed since its start because memory was short; 0 where it does not count them. The kernel writes
 * this file as it is read, which takes less than handing the request to another thread.
 */
export const countOomKills = (): number => {
  try {
    return oomKillsIn(readFileSync('/proc/vmstat', 'utf8'));
  } catch {
    return 0;
  }
};

export const oomKillsIn = (vmstat: string): number => Number(/^oom_kill (\d+)$/m.exec(vmstat)?.[1] ?? 0);

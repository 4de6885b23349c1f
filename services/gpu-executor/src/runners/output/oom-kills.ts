import { readFileSync } from 'node:fs';

/** How long a count is good enough to begin a run with. */
const RECENT_MS = 1_000;

let recent = { count: 0, until: 0 };

/**
 * How many processes the kernel has killed since its start because memory was short; 0 where it does not count them. The kernel writes
 * this file as it is read, which takes less than handing the request to another thread.
 */
export const countOomKills = (): number => {
  recent = { count: readCount(), until: performance.now() + RECENT_MS };
  return recent.count;
};

/** The same up to a second ago, for a run that begins: to read it takes more than many another step of a run. */
export const recentOomKills = (): number =>
  performance.now() < recent.until ? recent.count : countOomKills();

const readCount = (): number => {
  try {
    return oomKillsIn(readFileSync('/proc/vmstat', 'utf8'));
  } catch {
    return 0;
  }
};

export const oomKillsIn = (vmstat: string): number => Number(/^oom_kill (\d+)$/m.exec(vmstat)?.[1] ?? 0);

import { readdirSync, readFileSync } from 'node:fs';

/** Of `/proc` on Linux: hundredths of a second, on every machine that Node runs on. */
const MS_PER_TICK = 10;

/** The processor time in ms of a process and its descendants, with those that ended and were waited for. */
export const processorTime = (root: number = process.pid): number => {
  const stats = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readTimes(Number(name)) : []));
  const children = Map.groupBy(stats, ({ parent }) => parent);
  const below = (pid: number): number =>
    (children.get(pid) ?? []).reduce((sum, child) => sum + child.ms + below(child.pid), 0);
  const [own] = readTimes(root);
  return (own?.ms ?? 0) + below(root);
};

/** Nothing of a process that has ended. */
const readTimes = (pid: number): { readonly pid: number; readonly parent: number; readonly ms: number }[] => {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return [];
  }
  // Behind the name, which may hold anything but is in brackets.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent = 0] = fields;
  // utime, stime, cutime and cstime
  return [{ pid, parent, ms: MS_PER_TICK * fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) }];
};

import { readFileSync } from 'node:fs';

/** Of `/proc` on Linux: hundredths of a second, on every machine that Node runs on. */
const TICKS_PER_SECOND = 100;
const MB = 1_000_000;

/** Seconds of processor time that a process and its threads have used up. */
export const cpuSeconds = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Behind the name, which may hold anything but is in brackets: the third field is the first.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
};

/** Megabytes in memory now, and at most until now. */
export const memory = (pid: number): { readonly rss: number; readonly peak: number } => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kibibytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  return { rss: (kibibytes('VmRSS') * 1_024) / MB, peak: (kibibytes('VmHWM') * 1_024) / MB };
};

/** A child of this process, by how the name of its program begins. */
export const childNamed = (program: string): number => {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
  const found = children.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith(program));
  if (found === undefined) throw new Error(`No child of this process runs ${program}.`);
  return Number(found);
};

import type { ProcessEnd, SupervisedProcess } from './supervised-process.ts';
import type { Cgroup } from '../limits/cgroups.ts';
import type { Exceeded, ProgramLimits } from '../limits/program-limits.ts';
import { watchDisk } from '../limits/watch-disk.ts';

export interface Limited {
  readonly limits: ProgramLimits;
  /** What it writes to. */
  readonly folder: string;
  readonly cgroup: Cgroup | null;
}

/** The process, killed when its folder is too large; its end says so, and when its memory was full. */
export const withinLimits = (
  process: SupervisedProcess,
  { limits: { memoryBytes, diskBytes }, folder, cgroup }: Limited,
  log: { warn(fields: object, message: string): void },
): SupervisedProcess => {
  const outOfMemory = cgroup?.outOfMemory() ?? 0;
  let isTooLarge = false;
  const kill = (): void => {
    isTooLarge = true;
    process.kill();
  };
  const disk = watchDisk(folder, diskBytes, kill, log);
  const exceeded = (): Exceeded | null => {
    if (isTooLarge) return { resource: 'disk', limitBytes: diskBytes };
    const isFull = memoryBytes !== null && cgroup !== null && cgroup.outOfMemory() > outOfMemory;
    return isFull ? { resource: 'memory', limitBytes: memoryBytes } : null;
  };
  const ended = async (): Promise<ProcessEnd> => {
    const end = await process.ended;
    disk[Symbol.dispose]();
    const found = exceeded();
    return found === null || succeeded(end) ? end : { kind: 'exceeded', exceeded: found, strays: end.strays };
  };
  return { ...process, ended: ended() };
};

const succeeded = (end: ProcessEnd): boolean => end.kind === 'exited' && end.code === 0;

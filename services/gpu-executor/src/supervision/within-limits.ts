import type { ProcessEnd, SupervisedProcess } from './supervised-process.ts';
import type { Cgroup } from '../limits/cgroups.ts';
import type { Exceeded, ProgramLimits } from '../limits/program-limits.ts';
import { watchDisk } from '../limits/watch-disk.ts';

export interface Limited {
  readonly limits: ProgramLimits;
  /** What it writes to. */
  readonly folder: string;
  /** Which stays when it has ended, and what it may have; null without one. */
  readonly cache: { readonly folder: string; readonly maxBytes: number } | null;
  readonly cgroup: Cgroup | null;
}

/** The process, killed when a folder of it is too large; its end says so, and when its memory was full. */
export const withinLimits = (
  process: SupervisedProcess,
  { limits: { memoryBytes, diskBytes }, folder, cache, cgroup }: Limited,
  log: { warn(fields: object, message: string): void },
): SupervisedProcess => {
  const outOfMemory = cgroup?.outOfMemory() ?? 0;
  let tooLarge: Exceeded | null = null;
  const watch = (resource: 'disk' | 'cache', path: string, limitBytes: number): Disposable => {
    const kill = (): void => {
      tooLarge ??= { resource, limitBytes };
      process.kill();
    };
    return watchDisk(path, limitBytes, kill, log);
  };
  const watches = [
    watch('disk', folder, diskBytes),
    ...(cache === null ? [] : [watch('cache', cache.folder, cache.maxBytes)]),
  ];
  const exceeded = (): Exceeded | null => {
    if (tooLarge !== null) return tooLarge;
    const isFull = memoryBytes !== null && cgroup !== null && cgroup.outOfMemory() > outOfMemory;
    return isFull ? { resource: 'memory', limitBytes: memoryBytes } : null;
  };
  const ended = async (): Promise<ProcessEnd> => {
    const end = await process.ended;
    for (const each of watches) each[Symbol.dispose]();
    const found = exceeded();
    return found === null || succeeded(end) ? end : { kind: 'exceeded', exceeded: found, strays: end.strays };
  };
  return { ...process, ended: ended() };
};

const succeeded = (end: ProcessEnd): boolean => end.kind === 'exited' && end.code === 0;

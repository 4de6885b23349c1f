import type { Logger } from '@runledger/event-log/connect/observability';
import { messageOf } from '@runledger/resilience/errors';
import { getuid } from 'node:process';
import type { Users } from '../isolation/users.ts';
import { openSystemCalls, type Rlimits } from '../isolation/system-calls.ts';
import { openCgroups, type Cgroup, type Cgroups } from './cgroups.ts';
import type { ProgramLimits, Exceeded } from './program-limits.ts';
import type { ProcessEnd, SupervisedProcess } from './supervised-process.ts';
import { folderBytes } from '../folders/folder-size.ts';

/** What holds programs to their limits. */
export type Enforcement =
  | { readonly kind: 'cgroup'; readonly cgroups: Cgroups }
  /** Limits of processes, which the kernel counts by user. */
  | { readonly kind: 'rlimits'; readonly why: string }
  | { readonly kind: 'none'; readonly why: string };

/** The best that this machine allows, tried once, at the start. */
export const chooseEnforcement = (log: Logger): Enforcement => {
  const cgroups = openCgroups(log);
  if (typeof cgroups !== 'string') return { kind: 'cgroup', cgroups };
  try {
    openSystemCalls();
    return { kind: 'rlimits', why: cgroups };
  } catch (error) {
    const reason = messageOf(error);
    return { kind: 'none', why: `${cgroups}; the C library cannot be called: ${reason}` };
  }
};

/** For one supervisor: what it limits itself to, and with it what it starts, and the group that it begins in. */
export const limitsFor = (
  enforcement: Enforcement,
  limits: ProgramLimits,
): { readonly rlimits: Rlimits; readonly cgroup: Cgroup | null } => ({
  rlimits: rlimitsOf(enforcement.kind, limits),
  cgroup: enforcement.kind === 'cgroup' ? enforcement.cgroups.open(limits) : null,
});

/** Files and processor time are of one process everywhere. */
const rlimitsOf = (
  kind: Enforcement['kind'],
  { memoryBytes, processes, openFiles, diskBytes, cpuSeconds }: ProgramLimits,
): Rlimits => {
  if (kind === 'none') return [];
  const ofEach = [
    { resource: 'openFiles', value: openFiles },
    { resource: 'fileBytes', value: diskBytes },
    ...(cpuSeconds === null ? [] : [{ resource: 'cpuSeconds', value: cpuSeconds } as const]),
  ] as const;
  if (kind === 'cgroup') return ofEach;
  const ofMemory = memoryBytes === null ? [] : [{ resource: 'memoryBytes', value: memoryBytes } as const];
  return [...ofEach, { resource: 'processes', value: processes }, ...ofMemory];
};

/** In one sentence, for the operator. */
export const describeEnforcement = (enforcement: Enforcement, { kind }: Users): string => {
  switch (enforcement.kind) {
    case 'cgroup':
      return 'programs are held to their limits by control groups';
    case 'rlimits': {
      const isRoot = kind === 'executor' && getuid?.() === 0;
      const processes = isRoot
        ? 'processes of root are not counted'
        : 'all processes of the user are counted';
      return `programs are held to their limits by those of each process (processor time, not processors; ${processes}): ${enforcement.why}`;
    }
    case 'none':
      return `programs have no limits but that of disk: ${enforcement.why}`;
  }
};

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
  log: Logger,
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

/** A program may write as long before the first look, and between two. */
const PERIOD_MS = 5_000;

/** Looks at the size of a folder from time to time, and calls once when it is too large. Disposing ends that. A failed look is logged. */
export const watchDisk = (
  folder: string,
  maxBytes: number,
  onExceeded: () => void,
  log: Logger,
  periodMs = PERIOD_MS,
): Disposable => {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async (): Promise<void> => {
    const bytes = await folderBytes(folder).catch((error: unknown) => {
      log.warn({ folder, err: error }, 'the size of a folder of a program cannot be measured');
      return 0;
    });
    if (isOver) return;
    if (bytes === null || bytes > maxBytes) return onExceeded();
    wait();
  };
  const wait = (): void => {
    timer = setTimeout(() => void look(), periodMs).unref();
  };
  wait();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
};

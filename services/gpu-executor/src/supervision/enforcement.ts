import { getuid } from 'node:process';
import type { Users } from '../isolation/users.ts';
import { openSystemCalls, type Rlimits } from '../isolation/system-calls.ts';
import { openCgroups, type Cgroup, type Cgroups } from '../limits/cgroups.ts';
import type { ProgramLimits } from '../limits/program-limits.ts';

/** What holds programs to their limits. */
export type Enforcement =
  | { readonly kind: 'cgroup'; readonly cgroups: Cgroups }
  /** Limits of processes, which the kernel counts by user. */
  | { readonly kind: 'rlimits'; readonly why: string }
  | { readonly kind: 'none'; readonly why: string };

/** The best that this machine allows, tried once, at the start. */
export const chooseEnforcement = (log: { warn(fields: object, message: string): void }): Enforcement => {
  const cgroups = openCgroups(log);
  if (typeof cgroups !== 'string') return { kind: 'cgroup', cgroups };
  try {
    openSystemCalls();
    return { kind: 'rlimits', why: cgroups };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
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

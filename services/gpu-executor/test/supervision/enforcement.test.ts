import { getuid } from 'node:process';
import { describe, expect, it } from 'vitest';
import { describeEnforcement, limitsFor } from '../../src/supervision/enforcement.ts';
import { oneUser, ownUser } from '../../src/isolation/users.ts';
import { BY_RLIMITS, SOME_LIMITS } from '../fixtures/limited.ts';

const GIB = 1024 ** 3;
const ALL = { ...SOME_LIMITS, memoryBytes: 2 * GIB, cpus: 1.5, cpuSeconds: 60 };
const resourcesOf = (enforcement: Parameters<typeof limitsFor>[0]): string[] =>
  limitsFor(enforcement, ALL).rlimits.map(({ resource }) => resource);

describe('what holds programs to their limits', () => {
  it('is the process where there is no control group', () => {
    expect(resourcesOf(BY_RLIMITS)).toEqual([
      'openFiles',
      'fileBytes',
      'cpuSeconds',
      'processes',
      'memoryBytes',
    ]);
    expect(limitsFor(BY_RLIMITS, ALL).cgroup).toBeNull();
    expect(limitsFor(BY_RLIMITS, SOME_LIMITS).rlimits).not.toContainEqual(
      expect.objectContaining({ resource: 'memoryBytes' }),
    );
  });

  it('is the control group for what it counts together', () => {
    const cgroup = { enter: [], members: () => 1, outOfMemory: () => 0, close: async () => undefined };
    const enforcement = { kind: 'cgroup', cgroups: { open: () => cgroup } } as const;
    expect(resourcesOf(enforcement)).toEqual(['openFiles', 'fileBytes', 'cpuSeconds']);
    expect(limitsFor(enforcement, ALL).cgroup).toBe(cgroup);
  });

  it('is said with what it does not hold', () => {
    const ordinary = oneUser({ uid: 1000, gid: 1000 });
    expect(describeEnforcement(BY_RLIMITS, ordinary)).toBe(
      'programs are held to their limits by those of each process (processor time, not processors; all processes of the user are counted): chosen by the test',
    );
    const counted =
      getuid?.() === 0 ? 'processes of root are not counted' : 'all processes of the user are counted';
    expect(describeEnforcement(BY_RLIMITS, ownUser)).toContain(counted);
    expect(describeEnforcement({ kind: 'none', why: 'no koffi' }, ordinary)).toBe(
      'programs have no limits but that of disk: no koffi',
    );
  });
});

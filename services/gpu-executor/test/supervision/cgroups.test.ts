import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { openCgroups, ownGroup, type Cgroups } from '../../src/supervision/cgroups.ts';
import type { Enforcement } from '../../src/supervision/enforcement.ts';
import { openPrograms, temporaryFolder } from '../runners/program/run-a-program.ts';
import { isolationNamed } from '../fixtures/isolations.ts';

const MIB = 1024 ** 2;
const log = silentLogger;

describe('control groups', () => {
  it('are not used where there are none, and it is said', () => {
    const mountInfo = join(temporaryFolder(), 'mountinfo');
    writeFileSync(mountInfo, '22 1 0:20 / /proc rw - proc proc rw\n');
    expect(openCgroups(log, mountInfo)).toBe('no cgroup v2 is mounted');
  });
});

/** What an executor opens in a group that it has for itself, which this process makes beside its own; or why it cannot. */
const openAlone = (): Cgroups | string => {
  const own = ownGroup();
  if (own === null) return openCgroups(log);
  // Only the root has no type.
  const base = existsSync(join(own, 'cgroup.type')) ? dirname(own) : own;
  const alone = join(base, `test-${process.pid}`);
  try {
    mkdirSync(alone);
    writeFileSync(join(alone, 'cgroup.procs'), '0');
  } catch (error) {
    return String(error);
  }
  afterAll(async () => {
    writeFileSync(join(own, 'cgroup.procs'), '0');
    if (existsSync(join(alone, 'executor'))) rmdirSync(join(alone, 'executor'));
    await vi.waitFor(() => rmdirSync(alone));
  });
  return openCgroups(log);
};

const opened = openAlone();
if (typeof opened === 'string') process.stderr.write(`no tests with control groups: ${opened}\n`);

describe.skipIf(typeof opened === 'string')('programs in control groups', () => {
  const enforcementOf = (cgroups: Cgroups | string): Enforcement =>
    typeof cgroups === 'string' ? { kind: 'none', why: cgroups } : { kind: 'cgroup', cgroups };
  const enforcement = enforcementOf(opened);

  it.each(['bubblewrap', 'group'] as const)(
    'have no more processes, also those of root: %s',
    async (name) => {
      const isolation = await isolationNamed(name);
      if (typeof isolation === 'string') throw new Error(isolation);
      const limits = { processes: 64 };
      const start = await openPrograms({ enforcement, isolation, limits });
      const script = 'i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i + 1)); done; echo all';
      expect(await start(script).result).toMatchObject({
        outcome: 'failed',
        error: { kind: 'program_exit' },
      });
    },
  );

  it.each(['bubblewrap', 'group'] as const)(
    'have no more memory together, and are told so: %s',
    async (name) => {
      const isolation = await isolationNamed(name);
      if (typeof isolation === 'string') throw new Error(isolation);
      const limits = { memoryBytes: 1_024 * MIB };
      const start = await openPrograms({ enforcement, isolation, limits });
      const half = `'${process.execPath}' -e 'Buffer.alloc(${640 * MIB}).fill(1); setTimeout(() => 0, 60000)'`;
      expect(await start(`${half} & ${half}`).result).toMatchObject({
        outcome: 'failed',
        error: { kind: 'out_of_memory', message: expect.stringContaining('EXECUTOR_RUN_MEMORY_BYTES') },
      });
      expect(await start('exit 0', { nth: 1 }).result).toMatchObject({ outcome: 'succeeded' });
    },
  );

  it('have no more processors', async () => {
    const limits = { cpus: 0.25 };
    const start = await openPrograms({ enforcement, limits });
    const busy = `'${process.execPath}' -e 'while (performance.now() < 2000); console.error(process.cpuUsage().user)'`;
    const started = start(busy);
    await started.result;
    const used = Number(started.lines.at(-1)?.line);
    expect(used).toBeLessThan(1_000_000);
  });

  it('leave nothing, also what left its process group without its environment', async () => {
    const folder = temporaryFolder();
    const pidFile = join(folder, 'pid');
    const start = await openPrograms({ enforcement });
    const script = `env -i setsid sh -c 'echo $$ >${pidFile}; exec sleep 600' & while ! [ -s ${pidFile} ]; do sleep 0.01; done`;
    expect(await start(script).result).toMatchObject({ outcome: 'succeeded' });
    const pid = readFileSync(pidFile, 'utf8').trim();
    await expect.poll(() => existsSync(`/proc/${pid}/cwd`)).toBe(false);
  });
});

import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { geteuid } from 'node:process';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { retryAfterS } from '@runledger/contracts/events/run-error';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { isolationNamed } from '../fixtures/isolations.ts';
import { ownUser } from '../../src/isolation/users.ts';
import { openCgroups } from '../../src/supervision/cgroups.ts';
import { openPrograms, temporaryFolder } from '../runners/program/run-a-program.ts';
import { SOME_LIMITS } from '../fixtures/limited.ts';

const MIB = 1024 ** 2;
/** A group for memory of the first version of control groups, by which the kernel kills just as for the memory of the machine. */
const MEMORY_GROUPS = '/sys/fs/cgroup/memory';
const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};
const canLimit = geteuid?.() === 0 && isWritable(join(MEMORY_GROUPS, 'memory.limit_in_bytes'));
if (!canLimit)
  process.stderr.write('no test with kills by the kernel: it takes root and control groups of version 1\n');

/** A group in which there is memory for the start of a program, and not for its work. */
const aSmallGroup = (): string => {
  const folder = join(MEMORY_GROUPS, `test-${process.pid}`);
  mkdirSync(folder);
  onTestFinished(() => vi.waitFor(() => rmdirSync(folder)));
  writeFileSync(join(folder, 'memory.limit_in_bytes'), String(128 * MIB));
  return join(folder, 'cgroup.procs');
};

const TAKES_MEMORY = `exec '${process.execPath}' -e 'Buffer.alloc(${256 * MIB}).fill(1); setTimeout(() => 0, 60000)'`;

describe.skipIf(!canLimit)('a program that the kernel kills for memory', () => {
  it.each([
    ['itself', TAKES_MEMORY, { signal: 'SIGKILL' }],
    ['a child of its shell', `(${TAKES_MEMORY}); exit $?`, { exit_code: 137 }],
  ])('fails with a kind that can be tried again: %s', async (_what, script, known) => {
    const procs = aSmallGroup();
    const isolation = await isolationNamed('group', ownUser);
    if (typeof isolation === 'string') throw new Error(isolation);
    const start = await openPrograms({ isolation });
    const result = await start(`echo $$ >'${procs}'; ${script}`).result;
    expect(result).toMatchObject({ outcome: 'failed', error: { kind: 'out_of_memory', ...known } });
    if (result.outcome !== 'failed') throw new Error(result.outcome);
    expect(retryAfterS(result.error, { attempt: 1, retry_on: ['out_of_memory'] }, 0)).toBe(1);
    expect(retryAfterS(result.error, { attempt: 1, retry_on: ['program_signal'] }, 0)).toBeNull();
  });
});

const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];

/** As the kernel has them, in plain files: a folder for a mount of control groups, with that of this process. */
const aGroupOnPaper = () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'cgroup.controllers'), 'cpuset cpu io memory pids\n');
  writeFileSync(join(folder, 'cgroup.procs'), `${process.pid}\n`);
  const mountInfo = join(folder, 'mountinfo');
  writeFileSync(
    mountInfo,
    `35 25 0:30 ${own ?? ''} ${folder} rw - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n`,
  );
  return { folder, mountInfo };
};

describe.skipIf(own === undefined)('what a control group counts', () => {
  it('is how often its memory was full, by the words of the kernel', async () => {
    const { mountInfo } = aGroupOnPaper();
    const groups = openCgroups(silentLogger, mountInfo);
    if (typeof groups === 'string') throw new Error(groups);
    const group = groups.open({ ...SOME_LIMITS, memoryBytes: 1_024 * MIB });
    const events = join(String(group.enter.at(-1)), '../memory.events');
    const set = (oom: number): void =>
      writeFileSync(
        events,
        `low 0\nhigh 0\nmax 4817\noom ${oom}\noom_kill 7\noom_group_kill 3\nsock_throttled 0\n`,
      );
    // Another one of the machine was full, and the kernel took processes of this one.
    set(0);
    expect(group.outOfMemory()).toBe(0);
    set(2);
    expect(group.outOfMemory()).toBe(2);
  });
});

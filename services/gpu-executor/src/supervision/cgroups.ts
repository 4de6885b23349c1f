import type { Logger } from '@runledger/event-log/connect/observability';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { codeOf } from '@runledger/resilience/errors';
import type { ProgramLimits } from './program-limits.ts';

/** Control groups, version 2: https://docs.kernel.org/admin-guide/cgroup-v2.html */
export interface Cgroups {
  /** For one supervisor with what it starts. */
  open(limits: ProgramLimits): Cgroup;
}

export interface Cgroup {
  /** The beginning of a command: what follows it, with its arguments, is in the group before it runs. */
  readonly enter: readonly string[];
  /** How many processes it has. */
  members(): number;
  /** How often its memory was full, and the kernel ended it. */
  outOfMemory(): number;
  /** Kills what is left in it, and removes it. Never rejects. */
  close(): Promise<void>;
}

const MOUNT_INFO = '/proc/self/mountinfo';
const CONTROLLERS = ['memory', 'pids', 'cpu'];
const ADVICE = '; a service of systemd has its own with Delegate=yes';
const PERIOD_US = 100_000;
const GROUP_PREFIX = 'run-';
/** The kernel takes some time to end processes; one that hangs in a driver may take for ever. */
const REMOVED_WITHIN_MS = 10_000;

/**
 * The groups below the one that this process is in, which it leaves for `executor` below it: only a group without processes of its own can
 * have groups with limits. What a killed executor left there is removed.
 * @returns why not, where the group is not this process's own
 */
export const openCgroups = (log: Logger, mountInfo = MOUNT_INFO): Cgroups | string => {
  const base = ownGroup(mountInfo);
  if (base === null) return 'no cgroup v2 is mounted';
  try {
    const available = readFileSync(join(base, 'cgroup.controllers'), 'utf8').split(/\s/);
    const missing = CONTROLLERS.filter((name) => !available.includes(name));
    if (missing.length > 0) return `its cgroup has no controllers for ${missing.join(', ')}`;
    const members = readFileSync(join(base, 'cgroup.procs'), 'utf8').trim().split('\n');
    if (members.some((pid) => pid !== String(process.pid)))
      return `it shares its cgroup with others${ADVICE}`;
    const own = join(base, 'executor');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'cgroup.procs'), '0');
    writeFileSync(join(base, 'cgroup.subtree_control'), CONTROLLERS.map((name) => `+${name}`).join(' '));
  } catch (error) {
    return `its cgroup cannot be divided (${codeOf(error)})${ADVICE}`;
  }
  for (const name of readdirSync(base)) if (name.startsWith(GROUP_PREFIX)) void remove(join(base, name), log);
  return {
    open: (limits) => {
      const folder = join(base, `${GROUP_PREFIX}${randomUUID()}`);
      mkdirSync(folder);
      const set = (file: string, value: string): void => writeFileSync(join(folder, file), value);
      set('pids.max', String(limits.processes));
      set('memory.oom.group', '1');
      if (limits.memoryBytes !== null) {
        set('memory.max', String(limits.memoryBytes));
        // What is swapped out does not count there.
        setIfKnown(join(folder, 'memory.swap.max'), '0');
      }
      let lastCount = 0;
      const outOfMemory = (): number => (lastCount = countOf(folder, 'oom') ?? lastCount);
      if (limits.cpus !== null) set('cpu.max', `${Math.round(limits.cpus * PERIOD_US)} ${PERIOD_US}`);
      return {
        enter: ['/bin/sh', '-c', 'echo 0 >"$0" && exec "$@"', join(folder, 'cgroup.procs')],
        members: () => readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').length - 1,
        outOfMemory,
        close: () => {
          outOfMemory();
          return remove(folder, log);
        },
      };
    },
  };
};

/** Of an event in a group; null when the group is removed. */
const countOf = (folder: string, event: string): number | null => {
  try {
    const events = readFileSync(join(folder, 'memory.events'), 'utf8').split('\n');
    return Number(events.find((line) => line.startsWith(`${event} `))?.slice(event.length) ?? 0);
  } catch {
    return null;
  }
};

/** A kernel without swap has no such file. */
const setIfKnown = (path: string, value: string): void => {
  try {
    writeFileSync(path, value);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EACCES') throw error;
  }
};

/** The folder of the group that this process is in; null when it can see none. */
export const ownGroup = (mountInfo = MOUNT_INFO): string | null => {
  const path = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
  const mounted = readFileSync(mountInfo, 'utf8')
    .split('\n')
    .find((line) => line.includes(' - cgroup2 '));
  const [, , , root = '/', mountPoint] = mounted?.split(' ') ?? [];
  if (path === undefined || mountPoint === undefined || !path.startsWith(root)) return null;
  return join(mountPoint, path.slice(root === '/' ? 0 : root.length));
};

const remove = async (folder: string, log: Logger): Promise<void> => {
  const delays = backoff({ firstMs: 2, longestMs: 200 });
  const until = performance.now() + REMOVED_WITHIN_MS;
  for (;;) {
    try {
      writeFileSync(join(folder, 'cgroup.kill'), '1');
      rmdirSync(folder);
      return;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return;
      if (performance.now() > until)
        return log.warn({ folder, why: codeOf(error) }, 'a cgroup cannot be removed');
    }
    await sleep(delays.next());
  }
};

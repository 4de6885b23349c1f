import { setTimeout as pause } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, readdir, realpath } from 'node:fs/promises';

type Environment = ReadonlyMap<string, string>;

export interface KilledProcesses {
  killed: number[];
  survivors: number[];
}

/** Kills the processes that a killed executor with the same work folder left behind. */
export const killOrphans = async (own: Mark): Promise<KilledProcesses> =>
  killMarked(async (environment) => {
    const mark = parseMark(environment.get(MARK_VARIABLE) ?? '');
    if (mark === null || mark.folder !== own.folder) return false;
    return !(await isAlive(mark));
  });

/** Kills what a process left outside its process group: those with the marks of this environment. */
export const killStrays = (env: Readonly<Record<string, string>>): Promise<KilledProcesses> =>
  killMarked((environment) =>
    Promise.resolve(OWN_MARKS.every((name) => environment.get(name) === env[name])),
  );

/** Kills all processes of a user, who is not that of this process. */
export const killAllOf = (uid: number): Promise<KilledProcesses> =>
  killMatching(async (pid) => userOf(pid) === uid && !(await isDead(pid)));

/** True when no process of the group is alive. A zombie does not count. */
export const groupHasEnded = async (group: number): Promise<boolean> => {
  try {
    process.kill(-group, 0);
  } catch {
    return true;
  }
  const members = (await Promise.all((await allProcesses()).map(readStat))).filter(
    (stat) => stat?.group === group,
  );
  // Without /proc, only the result of kill is known.
  return members.length > 0 && members.every((stat) => stat?.state === 'Z' || stat?.state === 'X');
};

/** Whether the executor process of a mark is alive. */
export const isAlive = async ({ pid, started }: Mark): Promise<boolean> => {
  const stat = await readStat(pid);
  return stat !== null && stat.started === started && stat.state !== 'Z' && stat.state !== 'X';
};

const killMarked = (matches: (environment: Environment) => Promise<boolean>): Promise<KilledProcesses> =>
  killMatching(async (pid) => {
    const environment = pid === process.pid ? null : readMarkedEnvironment(pid);
    return environment !== null && (await matches(environment));
  });

/** A zombie has a user, and no environment. */
const isDead = async (pid: number): Promise<boolean> => {
  const stat = await readStat(pid);
  return stat === null || stat.state === 'Z' || stat.state === 'X';
};

/** Repeats, because a process may fork between the search and the kill. Returns the processes that cannot be killed. */
const killMatching = async (matches: (pid: number) => Promise<boolean>): Promise<KilledProcesses> => {
  const killed = new Set<number>();
  let found: number[] = [];
  for (let round = 0; round < 40; round += 1) {
    found = await findMatching(matches);
    if (found.length === 0) break;
    for (const pid of found) if (sendKill(pid)) killed.add(pid);
    await pause(25);
  }
  return { killed: [...killed], survivors: found };
};

const findMatching = async (matches: (pid: number) => Promise<boolean>): Promise<number[]> => {
  const found: number[] = [];
  for (const pid of await allProcesses()) if (await matches(pid)) found.push(pid);
  return found;
};

const sendKill = (pid: number): boolean => {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
};

/**
 * Every process of a run carries `RUNLEDGER_EXECUTOR_MARK=<folder>.<pid>.<started>` in its environment: a digest of
 * the work folder, and the executor process that started it. The system reuses pids; a pid and a start time (clock ticks
 * since the machine's start) together identify one process.
 */
export const MARK_VARIABLE = 'RUNLEDGER_EXECUTOR_MARK';

/** The slot of a process that is kept between runs, and has no run. */
export const SLOT_VARIABLE = 'RUNLEDGER_SLOT';

/** Of these values together, each attempt and each process that is kept for a slot has its own. */
const OWN_MARKS = [MARK_VARIABLE, 'RUNLEDGER_RUN_ID', 'RUNLEDGER_ATTEMPT', SLOT_VARIABLE] as const;

export interface Mark {
  folder: string;
  pid: number;
  started: string;
}

export const formatMark = ({ folder, pid, started }: Mark): string => `${folder}.${pid}.${started}`;

export const parseMark = (text: string): Mark | null => {
  const [, folder, pid, started] = /^([0-9a-f]{16})\.(\d{1,10})\.(\d{1,20})$/.exec(text) ?? [];
  return folder === undefined || pid === undefined || started === undefined
    ? null
    : { folder, pid: Number(pid), started };
};

export const ownMark = async (workFolder: string): Promise<Mark> => ({
  folder: createHash('sha256')
    .update(await realpath(workFolder))
    .digest('hex')
    .slice(0, 16),
  pid: process.pid,
  // Without /proc no process can be searched for either.
  started: (await readStat(process.pid))?.started ?? '0',
});

export interface ProcessStat {
  state: string;
  group: number;
  started: string;
}

/** Null when there is no such process. */
export const readStat = async (pid: number): Promise<ProcessStat | null> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  // The command's name is in parentheses and may contain spaces and parentheses: count from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', , group = ''] = fields;
  return { state, group: Number(group), started: fields[19] ?? '' };
};

/** Whom a process runs as; null when there is no such process. The owner of its folder in /proc may be another one. */
export const userOf = (pid: number): number | null => {
  const uid = /^Uid:\s*(\d+)/m.exec(readProcessFile(`/proc/${pid}/status`)?.toString() ?? '')?.[1];
  return uid === undefined ? null : Number(uid);
};

/**
 * The environment that a marked process was started with; null for one without a mark, of another user, or dead. Not asynchronous: a
 * machine has hundreds of processes, and each run that ends looks at all of them.
 */
export const readMarkedEnvironment = (pid: number): ReadonlyMap<string, string> | null => {
  const text = readProcessFile(`/proc/${pid}/environ`);
  if (text?.includes(`${MARK_VARIABLE}=`) !== true) return null;
  return new Map(
    text
      .toString()
      .split('\0')
      .map((entry) => {
        const equals = entry.indexOf('=');
        return [entry.slice(0, equals), entry.slice(equals + 1)];
      }),
  );
};

const readProcessFile = (path: string): Buffer | null => {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
};

export const allProcesses = async (): Promise<number[]> =>
  (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);

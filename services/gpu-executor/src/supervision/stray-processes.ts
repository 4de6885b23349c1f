import { setTimeout as pause } from 'node:timers/promises';
import {
  allProcesses,
  MARK_VARIABLE,
  OWN_MARKS,
  parseMark,
  readMarkedEnvironment,
  readStat,
  userOf,
  type Mark,
} from './process-mark.ts';

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

import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getegid, geteuid } from 'node:process';
import { promisify } from 'node:util';
import { ConfigError } from '@runledger/service-kit/config';
import { messageOf } from '@runledger/resilience/errors';
import { openSystemCalls } from './system-calls.ts';

/** Whom a program and its supervisor run as, when that is not the user of the executor. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** The users of programs. A supervisor has one from its start to its end, with all that it starts. */
export interface Users {
  /** `executor`: its own. `one`: that of EXECUTOR_RUN_AS, for all. `each`: another one for each supervisor, which nobody else has. */
  readonly kind: 'executor' | 'one' | 'each';
  /** For a new supervisor; null for the user of the executor. @throws when there is none left */
  acquire(): User | null;
  /** Nothing of its supervisor is left, nor a file that belongs to it. */
  release(user: User | null): void;
  /** Whether files of this user from before may stay: nobody else gets it then, until it is free. */
  retain(user: User): boolean;
  /** How many may have files that stay, beside those of supervisors. */
  readonly maxRetained: number;
  /** In words, for the operator. */
  readonly described: string;
}

/** The setting and these capabilities, by their bits: whoever has them may start, signal and clean up processes and files of another user. */
const RUN_AS = 'EXECUTOR_RUN_AS';
const NEEDED = { CHOWN: 0, DAC_OVERRIDE: 1, FOWNER: 3, KILL: 5, SETGID: 6, SETUID: 7 } as const;
const NUMBERS = /^(\d{1,10}):(\d{1,10})$/;
const MAX_ID = 2 ** 32 - 2;
/** Below what some tools take for negative, and above what systemd gives to containers. In a user namespace there are fewer. */
const LAST_OF_ALL = 2_100_000_000;
const MOST = 200_000_000;
const FEWEST = 64;
/** One of so many may have files that stay. */
const KEPT_OF_ALL = 4;
const NOBODY = 65_534;

/**
 * The users that this executor can give to programs: never root.
 * @throws {ConfigError} when it is root and can give no other one, or the user of the setting cannot be had
 */
export const openUsers = async (runAs: string | undefined): Promise<Users> => {
  if (runAs !== undefined) return oneUser(await readRunAs(runAs));
  const whyNot = whyNotOthers();
  const range = whyNot === null ? ownRange() : null;
  if (range !== null) return eachItsOwn(range);
  if (geteuid?.() !== 0 || isOrdinaryOutside()) return ownUser;
  throw new ConfigError([
    {
      variable: RUN_AS,
      wrong: `is not set, and programs would be root: ${whyNot ?? 'this user namespace has too few users to give each program one of its own'}`,
      right:
        'still unset; start the executor as an ordinary user, or let root have these capabilities (docker run --cap-add)',
    },
  ]);
};

export const ownUser: Users = {
  kind: 'executor',
  acquire: () => null,
  release: () => undefined,
  retain: ({ uid }) => uid === geteuid?.(),
  maxRetained: Infinity,
  described: 'programs have the user of the executor',
};

export const oneUser = (user: User): Users => ({
  kind: 'one',
  acquire: () => user,
  release: () => undefined,
  retain: ({ uid, gid }) => uid === user.uid && gid === user.gid,
  maxRetained: Infinity,
  described: `programs have the user ${user.uid}:${user.gid} (${RUN_AS})`,
});

/** From the first to the one before the last. */
interface Range {
  readonly first: number;
  readonly last: number;
}

const eachItsOwn = ({ first, last }: Range): Users => {
  const taken = new Set<number>();
  const start = randomInt(first, last);
  // Another executor of the machine begins elsewhere.
  let next = start;
  return {
    kind: 'each',
    acquire: () => {
      if (taken.size === last - first) throw new Error('Every user for programs is in use.');
      do next = next + 1 < last ? next + 1 : first;
      while (taken.has(next));
      taken.add(next);
      return { uid: next, gid: next };
    },
    release: (user) => void (user !== null && taken.delete(user.uid)),
    retain: ({ uid, gid }) => {
      if (uid !== gid || uid < first || uid >= last || taken.has(uid)) return false;
      taken.add(uid);
      return true;
    },
    maxRetained: Math.floor((last - first) / KEPT_OF_ALL),
    described: `each supervisor of programs has a user of its own (of ${first} to ${last - 1})`,
  };
};

/** The highest ids that this user namespace has, as users and as groups; null when it has too few. */
const ownRange = (): Range | null => {
  const ends = ['uid_map', 'gid_map'].map((file) => endOfIds(readFileSync(`/proc/self/${file}`, 'utf8')));
  const end = Math.min(LAST_OF_ALL, ...ends);
  const last = end === NOBODY + 2 ? NOBODY : end;
  const count = Math.min(MOST, Math.floor(last / 4));
  return count < FEWEST ? null : { first: last - count, last };
};

/** Whether this root is an ordinary user outside of its user namespace, as in a container that such a user started. */
const isOrdinaryOutside = (): boolean =>
  readFileSync('/proc/self/uid_map', 'utf8')
    .split('\n')
    .some((line) => /^\s*0\s+[1-9]/.test(line));

/** Of the ids that follow each other from 0. */
const endOfIds = (map: string): number => {
  const ranges = map
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .toSorted(([a = 0], [b = 0]) => a - b);
  let end = 0;
  for (const [inside = 0, , count = 0] of ranges) if (inside === end) end += count;
  return end;
};

/**
 * The user that this setting names, for an executor that may use it.
 * @throws {ConfigError}
 */
const readRunAs = async (text: string): Promise<User> => {
  const user = numbersOf(text) ?? (await userNamed(text));
  if (user === null) throw wrong(text, 'is no user of this machine', 'the name of one, or uid:gid');
  if (user.uid === 0 || user.gid === 0 || user.uid > MAX_ID || user.gid > MAX_ID)
    throw wrong(text, 'is root, or no user', 'an ordinary user with an ordinary group');
  const whyNot = whyNotOthers();
  if (whyNot !== null)
    throw wrong(
      text,
      `cannot be used: ${whyNot}`,
      'unset, unless the executor is root on Linux or has these capabilities',
    );
  return user;
};

/** Gives a file or a folder to the user, with all that is in it. Not for what another user could change meanwhile. */
export const giveTo = ({ uid, gid }: User, path: string): void => {
  if (lstatSync(path).isDirectory())
    for (const name of readdirSync(path)) giveTo({ uid, gid }, join(path, name));
  lchownSync(path, uid, gid);
};

const numbersOf = (text: string): User | null => {
  const [, uid, gid] = NUMBERS.exec(text) ?? [];
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
};

/** The system knows users that are in no file. */
const userNamed = async (name: string): Promise<User | null> => {
  try {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((what) => idOf(name, what)));
    return { uid: Number(uid), gid: Number(gid) };
  } catch {
    return null;
  }
};

const idOf = async (name: string, what: string): Promise<string> =>
  (await promisify(execFile)('id', [what, '--', name], { timeout: 10_000 })).stdout.trim();

const whyNotOthers = (): string | null => {
  try {
    openSystemCalls();
    const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
    const missing = Object.entries(NEEDED).filter(
      ([, bit]) => ((BigInt(`0x${effective}`) >> BigInt(bit)) & 1n) === 0n,
    );
    return missing.length === 0
      ? null
      : `the executor (user ${geteuid?.()}:${getegid?.()}) has not the capabilities ${missing.map(([name]) => name).join(', ')}`;
  } catch (error) {
    return messageOf(error);
  }
};

const wrong = (text: string, what: string, right: string): ConfigError =>
  new ConfigError([{ variable: RUN_AS, wrong: `= ${JSON.stringify(text)} ${what}`, right }]);

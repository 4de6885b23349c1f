import { execFile } from 'node:child_process';
import { lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getegid, geteuid } from 'node:process';
import { promisify } from 'node:util';
import { ConfigError } from '@runledger/service-kit/config/config';
import { openSystemCalls } from './system-calls.ts';

/** Whom programs and their supervisors run as, when that is not the user of the executor. They get no other groups. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** The setting and these capabilities, by their bits: whoever has them may start, signal and clean up processes and files of another user. */
const RUN_AS = 'EXECUTOR_RUN_AS';
const NEEDED = { CHOWN: 0, DAC_OVERRIDE: 1, FOWNER: 3, KILL: 5, SETGID: 6, SETUID: 7 } as const;
const NUMBERS = /^(\d{1,10}):(\d{1,10})$/;
const REACHES = 'fs.readFileSync(process.argv[1]); fs.accessSync(process.argv[2], fs.constants.X_OK)';
const MAX_ID = 2 ** 32 - 2;

/**
 * The user that this setting names, for an executor that may use it.
 * @throws {ConfigError}
 */
export const readRunAs = async (text: string): Promise<User> => {
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

/**
 * @throws {ConfigError} when this user cannot read what a supervisor is started from, or reach the folder of the runs
 */
export const tryRunAs = async (user: User, supervisor: string, workFolder: string): Promise<void> => {
  const [command = '', ...args] = asUser(user);
  try {
    await promisify(execFile)(command, [...args, process.execPath, '-e', REACHES, supervisor, workFolder], {
      cwd: '/',
      timeout: 30_000,
    });
  } catch {
    throw wrong(
      showUser(user),
      `cannot reach ${[process.execPath, supervisor, workFolder].join(', or ')}`,
      'a user who may read Node and the installation, and enter the folders above EXECUTOR_WORK_DIR',
    );
  }
};

/** The command that becomes this user, up to what runs as it. Who starts it may enter a cgroup before, and the user may not. */
export const asUser = (user: User | null): readonly string[] =>
  user === null ? [] : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--'];

export const showUser = ({ uid, gid }: User): string => `${uid}:${gid}`;

/** Gives a file or a folder to the user, with all that is in it. Not for what another user could change meanwhile. */
export const giveTo = ({ uid, gid }: User, path: string): void => {
  if (lstatSync(path).isDirectory())
    for (const name of readdirSync(path)) giveTo({ uid, gid }, join(path, name));
  lchownSync(path, uid, gid);
};

/** Whether a folder above is closed to all but its owner, who is another user. */
export const isClosedTo = ({ uid }: User, path: string): boolean => {
  const above = dirname(path);
  if (above === path) return false;
  const stats = lstatSync(above);
  return (stats.uid !== uid && (stats.mode & 0o011) === 0) || isClosedTo({ uid, gid: 0 }, above);
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
    return error instanceof Error ? error.message : String(error);
  }
};

const wrong = (text: string, what: string, right: string): ConfigError =>
  new ConfigError([{ variable: RUN_AS, wrong: `= ${JSON.stringify(text)} ${what}`, right }]);

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { text } from 'node:stream/consumers';
import { bundlesVariable } from '@runledger/service-kit/program-file';
import { someOf } from '@runledger/testing/random/cases';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isolationNamed, type IsolationName } from '../../fixtures/isolations.ts';

const PROGRAMS = join(import.meta.dirname, 'programs');
const EXECUTOR = join(import.meta.dirname, '../../fixtures/attacked-executor.ts');

interface Attacked {
  readonly attack: string;
  readonly lines: readonly string[];
  /** Where a file appeared. */
  readonly breaches: readonly string[];
  readonly changed: readonly string[];
  readonly isVictimAlive: boolean;
}

interface User {
  readonly title: string;
  /** Null: the user of the tests. */
  readonly uid: number | null;
  /** Whom the programs run as. */
  readonly runAs: string;
  /** As in the container of the compose file. */
  readonly withoutRights: boolean;
}

const USERS: readonly User[] =
  getuid?.() === 0
    ? [
        { title: 'root', uid: null, runAs: '', withoutRights: false },
        {
          title: 'root, and starts programs as another user',
          uid: null,
          runAs: '65534:65534',
          withoutRights: false,
        },
        { title: 'an ordinary user', uid: 65_534, runAs: '', withoutRights: false },
        { title: 'uid 1000 without rights', uid: 1_000, runAs: '', withoutRights: true },
      ]
    : [{ title: 'the user of the tests', uid: null, runAs: '', withoutRights: false }];

const attacked = async (
  { uid, runAs, withoutRights }: User,
  isolation: IsolationName,
): Promise<Attacked[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  if (uid !== null) chownSync(folder, uid, uid);
  chmodSync(folder, 0o711);
  const attacks = readdirSync(PROGRAMS).map((name) => join(PROGRAMS, name));
  const [command = '', ...args] = [
    ...(withoutRights ? ['setpriv', '--no-new-privs', '--'] : []),
    process.execPath,
    '--no-warnings',
    EXECUTOR,
    isolation,
    folder,
    runAs,
    ...attacks,
  ];
  const child = spawn(command, args, {
    // Each program has a supervisor of its own, which starts from its bundle in a third of the time.
    env: { PATH: process.env['PATH'], ...bundlesVariable(), PASSWORD: 'breached: a password' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === null ? {} : { uid, gid: uid }),
  });
  const [output, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  if (code !== 0) throw new Error(`The attacked executor ended with ${code ?? signal}: ${errors}`);
  return output
    .trim()
    .split('\n')
    .map((line): Attacked => JSON.parse(line));
};

const HOLDS: Omit<Attacked, 'attack' | 'lines'> = {
  breaches: [],
  changed: [],
  isVictimAlive: true,
};

/** The gate has each user and each isolation, the night all of both. A machine that allows one user only has both isolations. */
const isolationsOf = (user: User): IsolationName[] =>
  someOf(['bubblewrap', 'landlock'], (_isolation, n) => USERS.length === 1 || n === USERS.indexOf(user) % 2);

describe.each(USERS)('hostile programs, of an executor that is $title,', (user) => {
  it.for(isolationsOf(user))('reach nothing but their run: %s', async (isolation, { skip }) => {
    const chosen = await isolationNamed(isolation);
    if (typeof chosen === 'string') return skip(chosen);
    if (user.withoutRights && isolation === 'bubblewrap') return skip('such a user gets no namespaces');
    const results = await attacked(user, isolation);
    expect(results.map(({ attack }) => attack)).toEqual(readdirSync(PROGRAMS));
    for (const { attack, lines, ...state } of results) {
      expect
        .soft(
          lines.filter((line) => line.includes('breached')),
          attack,
        )
        .toEqual([]);
      expect.soft(state, attack).toEqual(HOLDS);
    }
  });
});

/** Of the executor of these tests, whatever the isolation. */
const HELD_BY_LIMITS = new Set([
  'opens-files.sh',
  'starts-processes.sh',
  'takes-memory.sh',
  'writes-a-large-file.sh',
]);

describe('hostile programs that nothing isolates', () => {
  it('reach something, each of them', async () => {
    const user = USERS.find(({ title }) => title === 'an ordinary user') ?? USERS[0];
    const results = user === undefined ? [] : await attacked(user, 'group');
    expect(results.map(({ attack }) => attack)).toEqual(readdirSync(PROGRAMS));
    const isHeld = ({ lines, breaches, changed, isVictimAlive }: Attacked): boolean =>
      !lines.some((line) => line.includes('breached')) &&
      breaches.length + changed.length === 0 &&
      isVictimAlive;
    expect(results.filter(isHeld).filter(({ attack }) => !HELD_BY_LIMITS.has(attack))).toEqual([]);
  });
});

import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { whyNoFilter } from '../../../src/isolation/seccomp.ts';
import { ATTACKS, ONE_USER } from '../../../src/probe/attacks.ts';
import type { Tried } from '../../../src/probe/probe-isolation.ts';
import { isolationNamed } from '../../fixtures/isolations.ts';
import type { Held } from '../../fixtures/tried-isolation.ts';

const FIXTURE = join(import.meta.dirname, '../../fixtures/tried-isolation.ts');
const isRoot = getuid?.() === 0;

interface As {
  /** Null: the user of the tests. */
  readonly uid?: number | null;
  readonly runAs?: string;
  /** In front of the executor. */
  readonly before?: readonly string[];
}

interface Found extends Tried {
  readonly takesTurns: boolean;
}

/** As an executor would find it that is started like this. */
const tried = async (held: Held, { uid = null, runAs = '', before = [] }: As = {}): Promise<Found> => {
  const folder = mkdtempSync(join(tmpdir(), 'probed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o711);
  if (uid !== null) chownSync(folder, uid, uid);
  const [command, ...args] = [...before, process.execPath, '--no-warnings', FIXTURE, held, folder, runAs];
  const options = { env: { PATH: process.env['PATH'] }, ...(uid === null ? {} : { uid, gid: uid }) };
  const { stdout } = await promisify(execFile)(command, args, options);
  return JSON.parse(stdout) as Found;
};

const STRONG = { isolation: 'strong', isolation_gaps: [], takesTurns: false };
/** Programs of all organisations have one user, so those of two never run at once. */
const inTurns = (...isolation_gaps: readonly string[]): object => ({
  isolation: isolation_gaps.length === 0 ? 'strong' : 'weak',
  isolation_gaps,
  takesTurns: true,
});
const SHARED_MEMORY = 'leave files in folders of the machine';
const PROCESSES = 'leave processes behind';
const hasBubblewrap = typeof (await isolationNamed('bubblewrap')) !== 'string';
const canFilter = whyNoFilter() === null;
const ORDINARY = isRoot ? 1_000 : null;
const IN_A_GROUP: Held = 'landlock in a group';

describe.runIf(canFilter)('the isolation that an executor finds at its start', () => {
  it.runIf(isRoot && hasBubblewrap)('is strong for root, with bubblewrap', async () => {
    expect(await tried('bubblewrap')).toMatchObject(STRONG);
  });

  it.runIf(isRoot).each(['landlock', IN_A_GROUP] as const)('is strong for root: %s', async (held) => {
    expect(await tried(held)).toMatchObject(STRONG);
  });

  it.runIf(hasBubblewrap)('is strong for an ordinary user, with bubblewrap', async () => {
    expect(await tried('bubblewrap', { uid: ORDINARY })).toMatchObject(STRONG);
  });

  it('is strong for an ordinary user, with Landlock in namespaces', async () => {
    expect(await tried('landlock', { uid: ORDINARY })).toMatchObject(STRONG);
  });

  it('is weak for an ordinary user, with Landlock and without namespaces, as in a container', async () => {
    const gaps = inTurns(PROCESSES, SHARED_MEMORY);
    expect(await tried(IN_A_GROUP, { uid: ORDINARY })).toMatchObject(gaps);
    const before = ['setpriv', '--no-new-privs', '--'];
    expect(await tried(IN_A_GROUP, { uid: ORDINARY, before })).toMatchObject(gaps);
  });

  it('is weak without a filter of system calls, and says what that means', async () => {
    const { isolation, isolation_gaps } = await tried('landlock without a filter', { uid: ORDINARY });
    expect(isolation).toBe('weak');
    expect(isolation_gaps).toEqual(
      expect.arrayContaining([
        'connect to sockets of others by their path',
        'connect a pair of sockets to one of others by its path',
        'use io_uring',
      ]),
    );
  });

  it
    .runIf(isRoot)
    .each(['landlock', IN_A_GROUP, ...(hasBubblewrap ? (['bubblewrap'] as const) : [])] as const)(
    'lets organisations take turns where all programs have one user: %s',
    async (held) => {
      const gaps = held === IN_A_GROUP ? [PROCESSES, SHARED_MEMORY] : [];
      expect(await tried(held, { runAs: '65534:65534' })).toMatchObject(inTurns(...gaps));
    },
  );
});

it('each attack succeeds without protection, by root or by the user of the executor', async () => {
  const found = [
    await tried('unprotected', { uid: ORDINARY }),
    ...(isRoot ? [await tried('unprotected')] : []),
  ];
  const reached = new Set(
    found.flatMap(({ isolation_gaps, takesTurns }) => [...isolation_gaps, ...(takesTurns ? [ONE_USER] : [])]),
  );
  const held = ATTACKS.map(({ can }) => can).filter((can) => !reached.has(can));
  expect(held).toEqual([]);
});

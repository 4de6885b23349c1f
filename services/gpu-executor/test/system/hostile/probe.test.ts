import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { promisify } from 'node:util';
import { bundlesVariable } from '@runledger/service-kit/program-file';
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

/** As executors would find it that are started like this. One process tries all, one after the other: its start is most of the time. */
const tried = async (
  helds: readonly Held[],
  { uid = null, runAs = '', before = [] }: As = {},
): Promise<Found[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'probed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o711);
  if (uid !== null) chownSync(folder, uid, uid);
  const [command = '', ...args] = [
    ...before,
    process.execPath,
    '--no-warnings',
    FIXTURE,
    folder,
    runAs,
    ...helds,
  ];
  const options = {
    env: { PATH: process.env['PATH'], ...bundlesVariable() },
    ...(uid === null ? {} : { uid, gid: uid }),
  };
  const { stdout } = await promisify(execFile)(command, args, options);
  return JSON.parse(stdout) as Found[];
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

const IF_BUBBLEWRAP = hasBubblewrap ? (['bubblewrap'] as const) : [];

describe.runIf(canFilter)('the isolation that an executor finds at its start', () => {
  it.runIf(isRoot)('is strong for root, with bubblewrap, and with Landlock', async () => {
    const helds = [...IF_BUBBLEWRAP, 'landlock', IN_A_GROUP] as const;
    expect(await tried(helds)).toMatchObject(helds.map(() => STRONG));
  });

  it('is strong for an ordinary user, with bubblewrap, and with Landlock in namespaces', async () => {
    const helds = [...IF_BUBBLEWRAP, 'landlock'] as const;
    expect(await tried(helds, { uid: ORDINARY })).toMatchObject(helds.map(() => STRONG));
  });

  it('is weak for an ordinary user, with Landlock and without namespaces, as in a container', async () => {
    const gaps = [inTurns(PROCESSES, SHARED_MEMORY)];
    expect(await tried([IN_A_GROUP], { uid: ORDINARY })).toMatchObject(gaps);
    const before = ['setpriv', '--no-new-privs', '--'];
    expect(await tried([IN_A_GROUP], { uid: ORDINARY, before })).toMatchObject(gaps);
  });

  it('is weak without a filter of system calls, and says what that means', async () => {
    const [found] = await tried(['landlock without a filter'], { uid: ORDINARY });
    expect(found?.isolation).toBe('weak');
    expect(found?.isolation_gaps).toEqual(
      expect.arrayContaining([
        'connect to sockets of others by their path',
        'connect a pair of sockets to one of others by its path',
        'use io_uring',
      ]),
    );
  });

  it.runIf(isRoot)('lets organisations take turns where all programs have one user', async () => {
    const helds = [...IF_BUBBLEWRAP, 'landlock', IN_A_GROUP] as const;
    const gapsOf = (held: Held): string[] => (held === IN_A_GROUP ? [PROCESSES, SHARED_MEMORY] : []);
    expect(await tried(helds, { runAs: '65534:65534' })).toMatchObject(
      helds.map((held) => inTurns(...gapsOf(held))),
    );
  });
});

it('each attack succeeds without protection, by root or by the user of the executor', async () => {
  const found = [
    ...(await tried(['unprotected'], { uid: ORDINARY })),
    ...(isRoot ? await tried(['unprotected']) : []),
  ];
  const reached = new Set(
    found.flatMap(({ isolation_gaps, takesTurns }) => [...isolation_gaps, ...(takesTurns ? [ONE_USER] : [])]),
  );
  const held = ATTACKS.map(({ can }) => can).filter((can) => !reached.has(can));
  expect(held).toEqual([]);
});

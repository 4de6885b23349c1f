import { readdirSync, readFileSync } from 'node:fs';
import { getuid } from 'node:process';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openUsers } from '../../src/isolation/users.ts';
import { isolationNamed } from '../fixtures/isolations.ts';
import { openPrograms } from '../runners/program/run-a-program.ts';

const isRoot = getuid?.() === 0;

/** It leaves its group, with nothing in its environment. */
const hides = (name: string): string =>
  `env -i setsid sh -c "touch '$TMPDIR/hides'; sleep 600; :" ${name} </dev/null >/dev/null 2>&1 &
  until [ -e "$TMPDIR/hides" ]; do :; done;`;

/** Of all processes of the machine, by one of its arguments. */
const isAlive = (name: string): boolean =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(name);
      } catch {
        return false;
      }
    });

describe.runIf(isRoot)('a program with a user of its own, in a process group', async () => {
  const isolation = await isolationNamed('landlock', isRoot ? await openUsers(undefined) : undefined);

  it.skipIf(typeof isolation === 'string').each([
    ['it ends', 'exit 0', 'succeeded'],
    ['it kills its supervisor', 'kill -9 $PPID; sleep 600', 'failed'],
  ])('leaves no process that hides when %s', async (_, then, outcome) => {
    if (typeof isolation === 'string') return;
    const name = `hidden-${outcome}-${process.pid}`;
    const start = await openPrograms({ isolation });
    const { result } = start(`${hides(name)} ${then}`);
    expect(await result).toMatchObject({ outcome });
    expect(isAlive(name)).toBe(false);
  });

  it.skipIf(typeof isolation === 'string')('leaves none when it is cancelled', async () => {
    if (typeof isolation === 'string') return;
    const name = `hidden-cancelled-${process.pid}`;
    const start = await openPrograms({ isolation, graceMs: 100 });
    const { result, cancel } = start(`trap '' TERM; ${hides(name)} while :; do sleep 1; done`);
    await waitFor('it hides', () => isAlive(name));
    cancel();
    expect(await result).toMatchObject({ outcome: 'cancelled' });
    expect(isAlive(name)).toBe(false);
  });
});

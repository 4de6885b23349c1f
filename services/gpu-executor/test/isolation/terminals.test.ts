import { describe, expect, it } from 'vitest';
import { probeBubblewrap, probeLandlock } from '../../src/isolation/choose-isolation.ts';
import type { Isolation } from '../../src/isolation/isolation.ts';
import { openUsers } from '../../src/isolation/users.ts';
import { openTerminal } from '../../src/probe/attack.ts';
import { start } from '../runners/program/run-a-program.ts';

const wanted = { path: process.env['PATH'] ?? '', hidden: [], before: '', users: await openUsers(undefined) };
const forms: readonly (readonly [string, Isolation | string])[] = [
  ['bubblewrap', await probeBubblewrap(wanted)],
  ['Landlock', await probeLandlock(wanted)],
];
const isHeld = (form: Isolation | string): boolean =>
  typeof form !== 'string' && (form.kind === 'bubblewrap' || form.containment.kind === 'namespace');

describe.each(forms)('a program in namespaces, with %s,', (_title, isolation) => {
  it.runIf(isHeld(isolation))('makes terminals of its own, and sees no other one', async () => {
    if (typeof isolation === 'string') return;
    const terminal = openTerminal();
    // The names in the folder, and the device of the terminal that `script` makes.
    const seen = 'echo /dev/pts/*; script -qec "tty; echo /dev/pts/*" /dev/null </dev/null';
    const { result, lines } = await start(seen, { isolation });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line.trim())).toEqual([
      '/dev/pts/ptmx',
      '/dev/pts/0',
      '/dev/pts/0 /dev/pts/ptmx',
    ]);
    expect(terminal?.path).toMatch(/^\/dev\/pts\/\d+$/);
    terminal?.close();
  });
});

import { lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bubblewrapOptions } from '../../src/isolation/bubblewrap.ts';
import { ownUser } from '../../src/isolation/users.ts';
import { programView } from '../../src/view/program-view.ts';
import { NOTHING_WITHHELD } from '../fixtures/limited.ts';
import { isolationNamed } from '../fixtures/isolations.ts';
import { start, temporaryFolder } from '../runners/program/run-a-program.ts';

const isolation = await isolationNamed('bubblewrap');
/** Of the system, and not needed by the programs here. */
const HIDDEN = '/usr/bin/base64';

/** A virtual environment, as Python makes it: what it calls python is a link to another file. */
const virtualEnvironment = (): string => {
  const folder = join(temporaryFolder(), 'venv');
  mkdirSync(join(folder, 'bin'), { recursive: true });
  symlinkSync('/bin/sh', join(folder, 'bin/python'));
  return folder;
};

const OPTIONS_WITH_PLACE: Readonly<Record<string, number>> = { '--ro-bind': 2, '--bind': 2, '--dir': 1 };

/** Where something is mounted or made. */
const placesIn = (options: readonly string[]): string[] =>
  options.flatMap((option, index) => {
    const place = options[index + (OPTIONS_WITH_PLACE[option] ?? Infinity)];
    return place === undefined ? [] : [place];
  });

describe('the mounts by bubblewrap', () => {
  it('are on no link of the machine, which bubblewrap refuses from version 0.12 on', () => {
    const command = join(virtualEnvironment(), 'bin/python');
    const entry = { command, args: ['/bin/sh', '/lib/os-release'], env: {}, readable: ['/bin'] };
    const options = bubblewrapOptions(
      { hidden: [], users: ownUser },
      programView(entry, { device: '' }, NOTHING_WITHHELD),
      null,
    );
    const isLink = (path: string): boolean =>
      lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    expect(placesIn(options).filter(isLink)).toEqual([]);
  });

  it.skipIf(typeof isolation === 'string').each([
    ['a virtual environment', () => join(virtualEnvironment(), 'bin/python')],
    ['the system, by a link', () => '/bin/sh'],
  ])('let a program run from %s', async (_, commandOf) => {
    if (typeof isolation === 'string') return;
    const program = { command: commandOf(), args: ['-c', 'echo runs'] };
    const { result, lines } = await start('', { isolation, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line)).toEqual(['runs']);
  });

  it.skipIf(typeof isolation === 'string').each([
    ['and a failure names it', 'head -c 4194304 /dev/zero >/tmp/file', 'the /tmp of 2 MiB is full'],
    [
      'and a failure mentions it where it is tidied up',
      'head -c 4194304 /dev/zero >/tmp/file || { rm /tmp/file; exit 1; }',
      'If that was in /tmp, which is in memory and has 2 MiB',
    ],
  ])('make a /tmp of its own size for a program, %s', async (_, script, said) => {
    if (typeof isolation === 'string') return;
    const limits = { temporaryBytes: 1024 ** 2 };
    const program = {
      command: '/bin/sh',
      args: ['-c', script],
      resources: { temporaryBytes: 2 * 1024 ** 2 },
    };
    expect(await (await start('', { isolation, limits, program })).result).toMatchObject({
      outcome: 'failed',
      error: { exit_code: 1, message: expect.stringMatching(new RegExp(`${said}.*EXECUTOR_RUN_TMP_BYTES`)) },
    });
  });

  it.skipIf(typeof isolation === 'string')(
    'hide what is hidden also below a folder that a program may read',
    async () => {
      if (typeof isolation === 'string' || isolation.kind !== 'bubblewrap') return;
      // With its command it may read all of /usr.
      const program = { command: '/usr/bin/env', args: ['sh', '-c', `cat ${HIDDEN} 2>&1 | head -c 9`] };
      const { result, lines } = await start('', { isolation: { ...isolation, hidden: [HIDDEN] }, program });
      expect(await result).toMatchObject({ outcome: 'succeeded' });
      expect(lines.map(({ line }) => line)).toEqual(['cat: /usr']);
    },
  );
});

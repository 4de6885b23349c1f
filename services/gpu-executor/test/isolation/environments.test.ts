import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { probeLandlock } from '../../src/isolation/choose-isolation.ts';
import { isInNamespace, isViewless, type Isolation } from '../../src/isolation/isolation.ts';
import { openUsers } from '../../src/isolation/users.ts';
import { isolations } from '../fixtures/isolations.ts';
import { start, temporaryFolder, writableFolder, type Options } from '../runners/program/run-a-program.ts';
import { installed, link, uvEnvironment, write } from './environments.ts';

/** As an executor has it that is root and may make namespaces: what is closed to other users is mounted again. */
const mounted = await probeLandlock({
  path: '',
  hidden: [],
  before: 'chosen by the test',
  users: await openUsers(undefined),
});
/** Those in which a program sees what its entry leads to, and nothing else. */
const ways: readonly (readonly [string, Isolation])[] = [
  ...isolations.filter(([, isolation]) => !isViewless(isolation)),
  ...(typeof mounted === 'string' ? [] : [['with Landlock, as the executor has it', mounted] as const]),
];

/** What the program wrote, and how it ended. */
const linesOf = async (program: Options['program'] & object, isolation: Isolation): Promise<string[]> => {
  const { result, lines } = await start('', { isolation, program });
  const ended = await result;
  return [
    ...lines.map(({ line }) => line),
    ...(ended.outcome === 'succeeded' ? [] : [JSON.stringify(ended)]),
  ];
};

/** What is hidden from a program is not there by bubblewrap, and closed by Landlock. */
const saidBy = ({ kind }: Isolation, why: string): string => {
  const code = kind === 'bubblewrap' ? 'ENOENT' : 'EACCES';
  return JSON.stringify({
    outcome: 'not_runnable',
    why: `The program script cannot be started: ${code}: ${why}`,
  });
};

/** Nobody but its owner gets into it. Only where folders can be mounted again do programs of another user. */
const closedFolder = (): string => {
  const closed = mkdtempSync(join(tmpdir(), 'closed-'));
  onTestFinished(() => rmSync(closed, { recursive: true }));
  const home = join(closed, 'home');
  mkdirSync(home);
  return home;
};

describe.each(ways)('a program %s', (_, isolation) => {
  const isClosedTo = getuid?.() === 0 && isolation.users.kind !== 'executor' && !isInNamespace(isolation);

  it.each([
    ['', temporaryFolder],
    [', in a folder that is closed to others', closedFolder],
  ])('runs from an environment of uv, with the links of folders between%s', async (where, folderOf) => {
    if (isClosedTo && where !== '') return;
    const { python, library } = uvEnvironment(folderOf());
    const command = { command: python, args: ['-c', `read -r line < '${library}' || echo "$line"`] };
    expect(await linesOf(command, isolation)).toEqual(['its library']);
  });

  it('is a console script of its environment, that is reached by a link, also if it starts its interpreter itself', async () => {
    const folder = temporaryFolder();
    const { python, library } = uvEnvironment(folder);
    const reads = `read -r line < '${library}' || echo "$line"`;
    // As installers write them where the path is too long for the first line.
    const itself = `#!/bin/sh\n[ -n "$AGAIN" ] || AGAIN=1 exec '${python}' "$0"\n${reads}\n`;
    for (const [name, text] of Object.entries({ usual: `#!${python}\n${reads}\n`, itself })) {
      const script = write(join(python, '..', name), text, 0o755);
      const command = link(join(folder, 'commands', name), script);
      expect(await linesOf({ command, args: [] }, isolation)).toEqual(['its library']);
    }
  });

  it('finds the interpreter that env names on the PATH of the executor, and that of a script which an argument names', async () => {
    const folder = temporaryFolder();
    const { home } = installed(join(folder, 'versions/3.12'));
    const text = `#!/usr/bin/env -S python3 -u\nread -r line < '${home}/lib/python3.12/os.py' || echo "$line"\n`;
    const script = write(join(folder, 'app/render'), text, 0o755);
    const path = `${home}/bin:/usr/bin:/bin`;
    const env = { PATH: path };
    expect(await linesOf({ command: script, args: [], env }, isolation)).toEqual(['its library']);
    expect(await linesOf({ command: '/usr/bin/env', args: [script], env }, isolation)).toEqual([
      'its library',
    ]);
  });

  it('that cannot be started says which interpreter, or link, it does not see', async () => {
    const folder = temporaryFolder();
    const { home, file } = installed(join(folder, 'tool'));
    rmSync(join(home, 'lib'), { recursive: true });
    const writable = writableFolder();
    const script = write(join(writable, 'script'), `#!${file}\n`, 0o755);
    const advice = `add ${home} to "readable" of its entry.`;
    expect(await linesOf({ command: script, writable: [writable] }, isolation)).toEqual([
      saidBy(
        isolation,
        `${script} exists, and its interpreter ${file} is not visible to programs: ${advice}`,
      ),
    ]);
    const tool = link(join(writable, 'tool'), file);
    expect(await linesOf({ command: tool, writable: [writable] }, isolation)).toEqual([
      saidBy(
        isolation,
        `${tool} exists, and it leads to ${file}, which is not visible to programs: ${advice}`,
      ),
    ]);
  });

  it('whose entry names a folder that does not exist says so', async () => {
    const program = { command: '/bin/sh', args: ['-c', 'echo runs'], readable: ['/no/models'] };
    expect(await linesOf(program, isolation)).toEqual([
      expect.stringContaining(
        '/no/models, which its entry names as readable, does not exist: make or mount it',
      ),
    ]);
  });

  it('has a Python that is a copy, and the one behind it', async () => {
    const folder = temporaryFolder();
    const { home, file } = installed(join(folder, 'python'));
    const environment = join(folder, 'venv');
    write(join(environment, 'pyvenv.cfg'), `home = ${home}/bin\n`);
    mkdirSync(join(environment, 'bin'));
    copyFileSync(file, join(environment, 'bin/python'));
    chmodSync(join(environment, 'bin/python'), 0o755);
    const args = ['-c', `read -r line < '${home}/lib/python3.12/os.py' || echo "$line"`];
    expect(await linesOf({ command: join(environment, 'bin/python'), args }, isolation)).toEqual([
      'its library',
    ]);
  });
});

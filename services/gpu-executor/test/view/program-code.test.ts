import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { beforeEach, describe, expect, it } from 'vitest';
import type { OperatorCommand } from '../../src/runners/operator-command.ts';
import { programCode, type LookAtCode } from '../../src/view/program-code.ts';
import { NOTHING_WITHHELD } from '../fixtures/limited.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const PYTHON = '/usr/bin/python3';

let folder: string;
beforeEach(() => {
  folder = join(temporaryFolder(), 'caption');
  mkdirSync(join(folder, 'models'), { recursive: true });
  writeFileSync(join(folder, 'predict.py'), 'import helper\n');
  writeFileSync(join(folder, 'helper.py'), 'TEMPERATURE = 0.7\n');
  writeFileSync(join(folder, 'models/unet.safetensors'), 'weights');
});

const commandIn = (where: string, more: Partial<OperatorCommand> = {}): OperatorCommand => ({
  command: PYTHON,
  args: [join(where, 'predict.py')],
  env: {},
  readable: [where],
  ...more,
});

const lookAt = (command: OperatorCommand): LookAtCode => programCode(command, NOTHING_WITHHELD, silentLogger);

describe('the code of a program', () => {
  it.each([
    ['a changed script', () => appendFileSync(join(folder, 'predict.py'), '#')],
    ['a module beside it', () => appendFileSync(join(folder, 'helper.py'), '#')],
    [
      'a change that keeps size and time',
      () => {
        writeFileSync(join(folder, 'helper.py'), 'TEMPERATURE = 0.8\n');
        utimesSync(join(folder, 'helper.py'), 1, 1);
      },
    ],
    ['a new module', () => writeFileSync(join(folder, 'other.py'), '')],
    ['a module that is gone', () => rmSync(join(folder, 'helper.py'))],
    ['a compiled library', () => writeFileSync(join(folder, 'fast.so'), 'ELF')],
  ])('is another one after %s', async (_what, change) => {
    utimesSync(join(folder, 'helper.py'), 1, 1);
    const look = lookAt(commandIn(folder));
    const before = await look();
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(await look()).toBe(before);
    change();
    expect(await look()).not.toBe(before);
  });

  it.each([
    [
      'what the interpreter makes of it',
      () => {
        mkdirSync(join(folder, '__pycache__'));
        writeFileSync(join(folder, '__pycache__/helper.cpython-312.pyc'), 'bytes');
      },
    ],
    ['models and other data', () => writeFileSync(join(folder, 'models/unet.safetensors'), 'others')],
    ['what it writes beside itself', () => writeFileSync(join(folder, 'runs.log'), 'a line')],
    ['times alone', () => utimesSync(join(folder, 'helper.py'), 1, 1)],
  ])('is the same one whatever there is of %s', async (_what, change) => {
    const look = lookAt(commandIn(folder));
    const before = await look();
    change();
    expect(await look()).toBe(before);
  });

  it.each(['venv/lib/python3.12/site-packages', 'node_modules'])(
    'is another one when something is installed into %s',
    async (packages) => {
      const record = packages === 'node_modules' ? '.package-lock.json' : 'numpy-2.4.0.dist-info/RECORD';
      const install = (version: string): void => {
        const file = join(folder, packages, record.replace('2.4.0', version));
        mkdirSync(dirname(file), { recursive: true });
        rmSync(file, { force: true });
        writeFileSync(file, version);
      };
      install('2.4.0');
      const look = lookAt(commandIn(folder));
      const before = await look();
      install('2.5.0');
      expect(await look()).not.toBe(before);
    },
  );

  it('is known without a look into packages', async () => {
    const packages = join(folder, 'venv/lib/python3.12/site-packages/torch');
    mkdirSync(packages, { recursive: true });
    const look = lookAt(commandIn(folder));
    const before = await look();
    writeFileSync(join(packages, 'nn.py'), '');
    expect(await look()).toBe(before);
    // Python makes it beside modules that are packages by themselves, and it changes the time of the folder.
    mkdirSync(join(packages, '../__pycache__'));
    expect(await look()).toBe(before);
  });

  it('is the same one in another place, and on another machine', async () => {
    const other = join(temporaryFolder(), 'elsewhere');
    cpSync(folder, other, { recursive: true });
    expect(await lookAt(commandIn(other))()).toBe(await lookAt(commandIn(folder))());
  });

  it('follows a link that a release is switched with', async () => {
    const [link, next] = [join(temporaryFolder(), 'current'), join(temporaryFolder(), 'next')];
    symlinkSync(folder, link);
    const look = lookAt(commandIn(link));
    const before = await look();
    cpSync(folder, next, { recursive: true });
    appendFileSync(join(next, 'helper.py'), '#');
    rmSync(link);
    symlinkSync(next, link);
    expect(await look()).not.toBe(before);
  });

  it('is no part of what the program may write, and unknown where nothing else is left', async () => {
    const script = join(folder, 'run.sh');
    writeFileSync(script, '#!/bin/sh\n');
    chmodSync(script, 0o755);
    expect(await lookAt(commandIn(folder, { writable: [folder] }))()).toBeNull();
    expect(await lookAt({ command: '/bin/echo', args: ['hello'], env: {} })()).toBeNull();
    expect(await lookAt({ command: script, args: [], env: {} })()).toMatch(/^[0-9a-f]{64}$/);
  });
});

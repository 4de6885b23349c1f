import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAllowList } from '../../../src/runner/program/allow-list.ts';
import { temporaryFolder } from './run-a-program.ts';

const withProgram = (): { folder: string; render: string } => {
  const folder = temporaryFolder();
  const render = join(folder, 'render');
  writeFileSync(render, '#!/bin/sh\n');
  chmodSync(render, 0o755);
  return { folder, render };
};

describe('EXECUTOR_PROGRAMS', () => {
  it('maps names to commands, found on PATH or absolute', async () => {
    const { folder, render } = withProgram();
    const setting = { one: ['render', '--fast'], two: { command: render, env: { HF_HOME: '/models' } } };
    const read = await readAllowList(JSON.stringify(setting), `/no/such/folder:${folder}`);
    expect(read.ok && [...read.programs]).toEqual([
      ['one', { command: render, args: ['--fast'], env: {} }],
      ['two', { command: render, args: [], env: { HF_HOME: '/models' } }],
    ]);
  });

  it('reports all invalid entries at once', async () => {
    const { folder, render } = withProgram();
    const plain = join(folder, 'plain');
    writeFileSync(plain, '');
    mkdirSync(join(folder, 'folder'));
    const setting = {
      'a b': ['render'],
      'no command': 1,
      empty: [],
      absent: ['absent'],
      plain: [plain],
      folder: [join(folder, 'folder')],
      relative: ['./render'],
      numbers: ['render', 1],
      nul: ['render', '\0'],
      variables: { command: render, env: { RUNLEDGER_RUN_ID: 'x' } },
      device: { command: render, env: { CUDA_VISIBLE_DEVICES: '0' } },
      value: { command: render, env: { A: 1 } },
    };
    const read = await readAllowList(JSON.stringify(setting), folder);
    expect(read.ok ? [] : read.problems).toHaveLength(Object.keys(setting).length);
  });

  it.each(['', '[]', 'null', '{', '"x"'])('refuses %j, with the expected format', async (setting) => {
    expect(await readAllowList(setting, '')).toEqual({
      ok: false,
      problems: [
        {
          variable: 'EXECUTOR_PROGRAMS',
          wrong: 'is not a JSON object',
          right: expect.stringContaining('{"name": ["command"'),
        },
      ],
    });
  });
});

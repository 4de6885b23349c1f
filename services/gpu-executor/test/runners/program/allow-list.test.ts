import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAllowList } from '../../../src/runners/program/allow-list.ts';
import { programRunnerType } from '../../../src/runners/program/program-runner-type.ts';
import { temporaryFolder } from './run-a-program.ts';

const ORG = '01920000-0000-7000-8000-00000000000a';

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
    const path = `/no/such/folder:${folder}`;
    const read = await readAllowList(JSON.stringify(setting), path);
    expect(read.ok && [...read.programs.once]).toEqual([
      ['one', { command: render, args: ['--fast'], env: {}, path }],
      ['two', { command: render, args: [], env: { HF_HOME: '/models' }, path }],
    ]);
  });

  it('finds a relative command below the folder in which it runs', async () => {
    const { folder, render } = withProgram();
    const setting = { one: { command: './render', cwd: folder } };
    const read = await readAllowList(JSON.stringify(setting), '');
    expect(read.ok && [...read.programs.once]).toEqual([
      ['one', { command: render, args: [], env: {}, cwd: folder, path: '' }],
    ]);
  });

  it('has programs that are for some organisations only', async () => {
    const { folder } = withProgram();
    const setting = { one: { command: 'render', organisations: [ORG] }, all: ['render'] };
    const configured = await programRunnerType.configure(
      { EXECUTOR_PROGRAMS: JSON.stringify(setting) },
      { PATH: folder, slots: [] },
    );
    expect(configured).toMatchObject({
      capabilities: { programs: ['one', 'all'], dedicated: { one: [ORG] } },
    });
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
      'no folder': { command: render, cwd: 'work' },
      'one organisation': { command: render, organisations: ORG },
      'no id': { command: render, organisations: ['acme'] },
      'no word': { command: render, network: 'none at all' },
      'no boolean': { command: render, network: false },
      crowd: { command: render, organisations: Array.from({ length: 65 }, () => ORG) },
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

  it('has resident programs, with their limits', async () => {
    const { render } = withProgram();
    const setting = {
      brief: { command: render, mode: 'resident', start_timeout_s: 60, idle_timeout_s: 0.5, max_runs: 100 },
      warm: { command: render, mode: 'resident', preload: true },
      once: { command: render, mode: 'once' },
    };
    const read = await readAllowList(JSON.stringify(setting), '');
    const command = { command: render, args: [], env: {}, path: '' };
    expect(read.ok && [...read.programs.resident]).toEqual([
      [
        'brief',
        { ...command, limits: { startTimeoutMs: 60_000, idleTimeoutMs: 500, maxRuns: 100, preload: false } },
      ],
      [
        'warm',
        {
          ...command,
          limits: { startTimeoutMs: 300_000, idleTimeoutMs: null, maxRuns: null, preload: true },
        },
      ],
    ]);
    expect(read.ok && [...read.programs.once.keys()]).toEqual(['once']);
  });

  it.each([
    [{ mode: 'warm' }, 'whose mode is neither'],
    [{ preload: true }, 'which has preload, but not the mode "resident"'],
    [{ mode: 'once', max_runs: 1 }, 'which has max_runs, but not'],
    [{ mode: 'resident', start_timeout_s: '60' }, 'start_timeout_s is not a number of seconds'],
    [{ mode: 'resident', idle_timeout_s: 0 }, 'idle_timeout_s is not a number of seconds'],
    [{ mode: 'resident', max_runs: 1.5 }, 'max_runs is not a positive integer'],
    [{ mode: 'resident', preload: 'yes' }, 'preload is neither true nor false'],
    [{ mode: 'resident', preload: true, idle_timeout_s: 60 }, 'loaded only to be stopped again'],
  ])('says what is wrong with %j', async (given, wrong) => {
    const { render } = withProgram();
    const read = await readAllowList(JSON.stringify({ model: { command: render, ...given } }), '');
    expect(!read.ok && read.problems).toMatchObject([{ wrong: expect.stringContaining(wrong) }]);
  });

  it('preloads one program only, because a slot keeps one', async () => {
    const { render } = withProgram();
    const warm = { command: render, mode: 'resident', preload: true };
    const read = await readAllowList(JSON.stringify({ one: warm, other: warm }), '');
    expect(!read.ok && read.problems).toMatchObject([
      { wrong: 'preloads one and other, but a slot keeps one process' },
    ]);
  });
});

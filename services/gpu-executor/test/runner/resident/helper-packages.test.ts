import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findPython } from '@runledger/local-servers/python';
import { afterAll, describe, expect, it } from 'vitest';
import type { ResidentProgram } from '../../../src/runner/resident/resident-runner.ts';
import { describeRunner } from '../runner-conformance.ts';
import { bareProgram, openResidentProgram, PROGRAMS } from './run-a-resident-program.ts';

const packages = join(dirname(fileURLToPath(import.meta.resolve('@runledger/resident/package.json'))), '..');
const folder = mkdtempSync(join(tmpdir(), 'resident-packages-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program beside the package as npm publishes it. */
const withTypeScriptHelper = (): ResidentProgram => {
  const pack = ['pack', '--silent', '--pack-destination', folder];
  const tarball = execFileSync('npm', pack, { cwd: join(packages, 'resident') })
    .toString()
    .trim();
  const installed = join(folder, 'node_modules', '@runledger', 'resident');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', [
    '--extract',
    '--file',
    join(folder, tarball),
    '--strip-components',
    '1',
    '-C',
    installed,
  ]);
  const program = join(folder, 'program.mjs');
  copyFileSync(join(PROGRAMS, 'typescript.mjs'), program);
  return { ...bareProgram(), args: [program] };
};

const python = await findPython(process.env, { oldest: [3, 9], newest: [3, 14] });

const withPythonHelper = (path: string): ResidentProgram => ({
  ...bareProgram({ PYTHONPATH: join(packages, 'resident-python', 'src') }),
  command: path,
  args: [join(PROGRAMS, 'workloads.py')],
});

const helpers: [string, ResidentProgram][] = [
  ['TypeScript', withTypeScriptHelper()],
  ...(python === undefined ? [] : [['Python', withPythonHelper(python.path)] as [string, ResidentProgram]]),
];

for (const [language, program] of helpers) {
  describeRunner(`a resident program with the helper for ${language}`, async ({ graceMs }) => {
    const start = await openResidentProgram(program, { graceMs });
    return { start: async (workload, options) => start(workload, options) };
  });
}

describe.each(helpers)('the helper for %s', (_, program) => {
  it('says whether the run may succeed another time', async () => {
    const start = await openResidentProgram(program);
    expect(await start('fails for good').result).toMatchObject({
      error: { kind: 'execution_error', message: 'the size is wrong', retryable: false },
    });
  });

  it('keeps numbers that JSON does not have as words', async () => {
    const start = await openResidentProgram(program);
    const { result, reports } = start('puts out NaN');
    expect(await result).toMatchObject({
      outcome: 'succeeded',
      data: { scores: ['0.91', 'NaN', '-Infinity'], json: ['{"loss":"NaN"}'] },
    });
    expect(reports).toContainEqual({ progress: 0, live_status: 'half' });
  });

  it('refuses an output that is no JSON value', async () => {
    const start = await openResidentProgram(program);
    expect(await start('puts out nothing').result).toMatchObject({
      error: { kind: 'execution_error', message: expect.stringContaining('JSON') },
    });
  });

  it('keeps what is printed apart from its messages', async () => {
    const env = { ...program.env, PRINTS_WHILE_LOADING: 'yes' };
    const start = await openResidentProgram({ ...program, env });
    const { result, lines } = start('prints what looks like a message');
    expect(await result).toMatchObject({ outcome: 'succeeded', data: { text: ['whole'] } });
    expect(lines.map(({ line }) => line)).toContain('loading, without the end of a line');
  });
});

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { numberOf } from '@runledger/contracts/exact-number';
import { findPython } from '@runledger/local-servers/python';
import { casesOf } from '@runledger/testing/random/cases';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { ResidentProgram } from '../../src/runners/program/allow-list.ts';
import { describeRunner } from '../runners/runner-conformance.ts';
import { isolations, OTHER_ORG_ID } from '../fixtures/isolations.ts';
import { bareProgram, openResidentProgram, PROGRAMS } from '../runners/program/run-a-resident-program.ts';

const packages = join(dirname(fileURLToPath(import.meta.resolve('@runledger/resident/package.json'))), '..');
const folder = mkdtempSync(join(tmpdir(), 'resident-packages-'));
// Programs may have another user.
chmodSync(folder, 0o755);
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

  it('gives a function integers of 64 bits as they are', async () => {
    const start = await openResidentProgram(program);
    for (const seed of ['6687881544318117707', '-9007199254740993', '1']) {
      const text = '"6687881544318117707, \\';
      const { result } = start('tells its seed', { inputs: { seed: numberOf(seed), text } });
      expect(await result).toMatchObject({
        outcome: 'succeeded',
        data: { text: [seed, expect.stringMatching(/^str/)] },
      });
    }
  });

  it('has all of its own in the log of each run, and nothing of another one', async () => {
    const start = await openResidentProgram(program);
    for (let n = 0; n < casesOf(10); n += 1) {
      const { result, lines, reports } = start('prints in every way and raises', { nth: n, inputs: { n } });
      expect(await result).toMatchObject({ error: { message: expect.stringContaining(`${n}: raised`) } });
      expect(reports).toContainEqual({ progress: 0.5, live_status: `run ${n}` });
      const printed = lines.filter(({ stream }) => stream === 'stdout').map(({ line }) => line);
      expect(printed).toEqual(['print', 'printf', 'child', 'the last'].map((what) => `${n}: ${what}`));
      const errors = lines.filter(({ stream }) => stream === 'stderr').map(({ line }) => line);
      expect(errors).toContainEqual(expect.stringMatching(new RegExp(`Error: ${n}: raised$`)));
      expect(new Set(errors.join('\n').match(/\d+: raised/g))).toEqual(new Set([`${n}: raised`]));
    }
  });

  it('writes what comes between the runs to the log of nobody', async () => {
    const start = await openResidentProgram(program);
    const first = start('leaves a child that writes');
    expect(await first.result).toMatchObject({ outcome: 'succeeded' });
    const between = (): unknown => first.logged.find((entry) => 'line' in entry && entry.line === 'late');
    await vi.waitUntil(between, { timeout: 20_000 });
    const second = start('writes its log', { nth: 1 });
    await second.result;
    expect(first.lines.map(({ line }) => line)).toEqual(['its own']);
    expect(second.lines).toEqual(['one', 'two'].map((line) => ({ stream: 'stdout', line })));
  });

  it('shows an organisation nothing that runs of another one have left in a program they share', async () => {
    const start = await openResidentProgram({ ...program, shared: true });
    const first = start('leaves what writes', { inputs: { what: 'secret' } });
    expect(await first.result).toMatchObject({ outcome: 'succeeded' });
    expect(first.lines).toContainEqual({ stream: 'stdout', line: 'secret itself' });
    const second = start('prints for a while', { nth: 1, org_id: OTHER_ORG_ID });
    expect(await second.result).toMatchObject({ outcome: 'succeeded', data: {} });
    const own = second.lines.filter(({ stream }) => stream !== 'runner');
    expect(second.lines).toHaveLength(own.length + 1);
    expect(own.map(({ stream, line }) => [stream, line])).toEqual([
      ['stdout', 'first'],
      ['stdout', 'in a thread'],
      ['stdout', 'x'.repeat(40_000)],
      ['stderr', 'an error'],
    ]);
    expect(JSON.stringify([second.lines, second.reports])).not.toContain('secret');
    expect(second.logged).toContainEqual(expect.objectContaining({ line: 'secret of a child' }));
    expect(second.logged).toContainEqual(
      expect.objectContaining({ program: 'test', lines: expect.any(Number) }),
    );
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

it.skipIf(python === undefined).each([
  ['torch', { kind: 'out_of_memory', message: expect.stringContaining('CUDA out of memory') }],
  ['cause', { kind: 'out_of_memory', message: 'RuntimeError: the picture could not be made' }],
  ['otherwise', { kind: 'execution_error', message: 'ValueError: the size is wrong' }],
] as const)('a resident function that has no memory left says so: %s', async (how, error) => {
  const start = await openResidentProgram(withPythonHelper(python?.path ?? ''));
  const { result } = start('needs too much memory', { inputs: { how } });
  expect(await result).toMatchObject({ outcome: 'failed', error });
});

it.each(isolations)('a helper says what it has to say %s', async (_, isolation) => {
  const [[, program] = []] = helpers;
  const start = await openResidentProgram(
    { ...(program ?? bareProgram()), readable: [folder] },
    { isolation },
  );
  const { result, lines } = start('prints in every way and raises', { inputs: { n: 1 } });
  expect(await result).toMatchObject({ error: { message: '1: raised' } });
  expect(lines).toContainEqual({ stream: 'stdout', line: '1: the last' });
  expect(lines).toContainEqual({ stream: 'stderr', line: expect.stringContaining('Error: 1: raised') });
});

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { FIGURES } from '../../src/measures/figures.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
const ENDS_WITHIN_MS = 240_000;

const bench = async (...args: string[]): Promise<{ readonly out: string; readonly stdout: string }> => {
  const out = await mkdtemp(join(tmpdir(), 'runledger-bench-test-'));
  onTestFinished(() => rm(out, { recursive: true, force: true }));
  const command = [MAIN, '--quick', '--rounds', '1', '--out', out, ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command);
  return { out, stdout };
};

it('the bench measures every figure on a real standalone', { timeout: ENDS_WITHIN_MS }, async () => {
  const { out, stdout } = await bench();
  const results = JSON.parse(await readFile(join(out, 'results.json'), 'utf8')) as {
    readonly rounds: readonly Record<string, number>[];
  };
  // A service that is not there has no figures, and all are there.
  expect(new Set(Object.keys(results.rounds[0] ?? {}))).toEqual(new Set(FIGURES.keys()));
  expect(stdout).toContain('completed runs');
});

it('the bench measures how it grows with organisations', { timeout: ENDS_WITHIN_MS }, async () => {
  const { stdout } = await bench('--growth', 'organisations', '--most', '2');
  expect(stdout).toMatch(/organisations +\| 1 /);
});

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makePythonEnvironment, type PythonEnvironment } from '@runledger/local-servers/python';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';

const CLIENT = fileURLToPath(new URL('../../../../packages/client-python', import.meta.url));
const PROGRAM = readFileSync(join(CLIENT, 'tests', 'live', 'program.sh'), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'client-python-'));
let standalone: Standalone;
let environment: PythonEnvironment;
beforeAll(async () => {
  const started = startStandalone({
    env: {
      EXECUTOR_GPUS: 'A10G:4',
      EXECUTOR_PROGRAMS: JSON.stringify({ 'render-image': ['sh', '-c', PROGRAM] }),
      RUNLEDGER_RATE_LIMIT: '0',
    },
  });
  try {
    await installWheel();
  } finally {
    standalone = await started;
  }
}, 300_000);
afterAll(async () => {
  await standalone.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes the wheel, and installs it into an empty environment with what it names as its dependencies. */
const installWheel = async (): Promise<void> => {
  environment = await makePythonEnvironment('The client for Python', join(folder, 'venv'), process.env);
  const wheels = await environment.wheelsOf(join(CLIENT, 'tests', 'requirements.txt'));
  const offline = ['--no-index', '--find-links', wheels, '--quiet'];
  const source = join(folder, 'source');
  // setuptools leaves files beside what it builds.
  for (const part of ['src', 'pyproject.toml', 'README.md'])
    cpSync(join(CLIENT, part), join(source, part), { recursive: true });
  await environment.pip(['wheel', ...offline, '--no-deps', '--wheel-dir', folder, source]);
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl')) ?? 'no wheel';
  // What an example needs comes beside it.
  await environment.pip(['install', ...offline, '--no-compile', join(folder, wheel), 'fastapi', 'uvicorn']);
};

/** The last lines of the tests of a folder. They import what is installed. */
const tested = (suite: string): string => {
  const { stderr, status } = spawnSync(
    environment.python,
    ['-m', 'unittest', 'discover', '-t', CLIENT, '-s', join(CLIENT, 'tests', suite)],
    {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        PYTHONDONTWRITEBYTECODE: '1',
        RUNLEDGER_URL: standalone.url,
        RUNLEDGER_API_KEY: standalone.api_key,
        RUNLEDGER_TEST_DEPLOYMENT: standalone.deployment_id,
      },
      encoding: 'utf8',
      timeout: 240_000,
    },
  );
  return status === 0 ? (/Ran \d+ tests?/.exec(stderr)?.[0] ?? stderr) : stderr;
};

describe('the client for Python, installed from its wheel', { timeout: 300_000 }, () => {
  it('brings its types', () => {
    const script =
      'import importlib.resources as r; print(r.files("runledger").joinpath("py.typed").is_file())';
    const { stdout } = spawnSync(environment.python, ['-c', script], { cwd: folder, encoding: 'utf8' });
    expect(stdout).toBe('True\n');
  });

  it('decides as its rules say', () => {
    expect(tested('pure')).toMatch(/^Ran \d\d+ tests$/);
  });

  it('withstands a service that breaks', () => {
    expect(tested('faults')).toMatch(/^Ran \d+ tests$/);
  });

  it('does in blocking and in async code what it promises, at a real Runledger', () => {
    expect(tested('live')).toMatch(/^Ran \d+ tests$/);
  });

  it('has examples that work', () => {
    expect(tested('examples')).toMatch(/^Ran \d+ tests$/);
  });
});

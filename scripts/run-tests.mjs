import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { BUNDLES, currentBundles } from './build/bundles.mjs';
import { root, toolEnvironment } from './node24.mjs';
import { NO_RESULT, readResult, sumOf } from './test-result.mjs';

/** The report of a workspace for turbo, relative to the folder of the workspace. */
export const WORKSPACE_REPORT = join('.cache', 'test-report.json');

/** Runs vitest with these arguments and shows its report. Returns the counts and the exit status. */
export const runTests = async (args, { reportFile, env = {} } = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'runledger-test-report-'));
  const report = reportFile === undefined ? join(folder, 'report.json') : resolve(reportFile);
  const reporters = [
    '--reporter=default',
    '--reporter=json',
    `--reporter=${join(root, 'scripts', 'test-seconds.ts')}`,
    `--outputFile.json=${report}`,
  ];
  try {
    const status = await statusOf('vitest', ['run', ...reporters, ...args], env);
    return readResult(report, status);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/**
 * Runs the tests of the workspaces that differ from the branch main, and of those that depend on them. A result that passed
 * with the same files comes from the cache of turbo.
 */
export const runAffectedTests = async () => {
  const workspaceFolders = ['packages', 'services', 'apps'].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => join(group, name)),
  );
  const reports = ['.', ...workspaceFolders].map((folder) => resolve(root, folder, WORKSPACE_REPORT));
  for (const report of reports) rmSync(report, { force: true });
  const options = ['--env-mode=loose', '--concurrency=2', '--continue', '--output-logs=new-only'];
  const workspaces = await statusOf('turbo', ['run', 'test', '--affected', ...options]);
  const scripts = await statusOf('turbo', ['run', 'test:scripts', ...options]);
  // turbo restores the report of a cached result too.
  const results = reports.filter((report) => existsSync(report)).map((report) => readResult(report, 0));
  const status = workspaces === 0 ? scripts : workspaces;
  return sumOf([...results, { ...NO_RESULT, status }]);
};

/** Tests start the programs as users do: from bundles, if these can be made. */
const bundles = () => {
  const folder = currentBundles();
  return folder === undefined ? {} : { [BUNDLES]: folder };
};

const statusOf = (tool, args, more = {}) =>
  new Promise((resolve) => {
    const env = {
      ...toolEnvironment(),
      ...bundles(),
      ...more,
      TURBO_TELEMETRY_DISABLED: '1',
      DO_NOT_TRACK: '1',
    };
    const child = spawn(tool, args, { cwd: root, env, stdio: 'inherit' });
    // The terminal sends Ctrl-C to vitest too. This process stays, cleans up and prints the result.
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });

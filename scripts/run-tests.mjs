import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { root, toolEnvironment } from './node24.mjs';

/** The report of a workspace for turbo, relative to the folder of the workspace. */
export const WORKSPACE_REPORT = join('.cache', 'test-report.json');

/** Runs vitest with these arguments and shows its report. Returns the counts and the exit status. */
export const runTests = async (args, reportFile) => {
  const folder = mkdtempSync(join(tmpdir(), 'runledger-test-report-'));
  const report = reportFile === undefined ? join(folder, 'report.json') : resolve(reportFile);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  try {
    const status = await statusOf('vitest', ['run', ...reporters, ...args]);
    return resultOf(readReport(report), status);
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
  const results = reports
    .filter((report) => existsSync(report))
    .map((report) => resultOf(readReport(report), 0));
  const status = workspaces === 0 ? scripts : workspaces;
  return sumOf([...results, { passed: 0, failed: 0, failures: [], skipped: 0, status }]);
};

const readReport = (path) => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined);

/** The sum of several results. */
export const sumOf = (results) =>
  results.reduce((sum, each) => ({
    passed: sum.passed + each.passed,
    failed: sum.failed + each.failed,
    failures: [...sum.failures, ...each.failures],
    skipped: sum.skipped + each.skipped,
    status: sum.status === 0 ? each.status : sum.status,
  }));

/** Prints the last lines of a test run and sets the exit code of this process. */
export const reportResult = ({ passed, failed, failures, skipped, status }) => {
  for (const failure of failures) console.log(`Failed: ${failure}`);
  if (skipped > 0) console.log(`${skipped} skipped: see the reasons above.`);
  if (passed + skipped === 0 && failed <= 1) console.log('No test ran. Check the names of the files.');
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = status;
};

const statusOf = (tool, args) =>
  new Promise((resolve) => {
    const env = { ...toolEnvironment(), TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' };
    const child = spawn(tool, args, { cwd: root, env, stdio: 'inherit' });
    // The terminal sends Ctrl-C to vitest too. This process stays, cleans up and prints the result.
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });

const resultOf = (report, status) => {
  const passed = report?.numPassedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  // A file that fails to load has no tests, and an error outside of tests belongs to no test.
  const brokenFiles = (report?.testResults ?? []).filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  );
  const failures = [...brokenFiles.map(({ name }) => relative(root, name)), ...failedTests(report)];
  const counted = failures.length;
  const ranNothing = passed + counted === 0;
  const failed = counted === 0 && (status !== 0 || ranNothing) ? 1 : counted;
  return { passed, failed, failures, skipped, status: status === 0 && failed > 0 ? 1 : status };
};

const failedTests = (report) =>
  (report?.testResults ?? []).flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${relative(root, name)} > ${test.fullName}`),
  );

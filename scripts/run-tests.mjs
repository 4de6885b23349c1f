import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, toolEnvironment } from './node24.mjs';

/** Runs vitest with these arguments and shows its report. Returns the counts and the exit status. */
export const runTests = async (args) => {
  const folder = mkdtempSync(join(tmpdir(), 'runledger-test-report-'));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  try {
    const status = await statusOf('vitest', ['run', ...reporters, ...args]);
    return resultOf(existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined, status);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** The result of several runs together. */
export const sumOf = (results) =>
  results.reduce((sum, each) => ({
    passed: sum.passed + each.passed,
    failed: sum.failed + each.failed,
    skipped: sum.skipped + each.skipped,
    status: sum.status === 0 ? each.status : sum.status,
  }));

/** Prints the last lines of a test run and sets the exit code of this process. */
export const reportResult = ({ passed, failed, skipped, status }) => {
  if (skipped > 0) console.log(`${skipped} skipped: the lines above say why.`);
  if (passed + skipped === 0 && failed <= 1) console.log('No test ran. Check the names of the files.');
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = status;
};

const statusOf = (tool, args) =>
  new Promise((resolve) => {
    const child = spawn(tool, args, { cwd: root, env: toolEnvironment(), stdio: 'inherit' });
    // The terminal sends Ctrl-C to vitest too. This process stays to clean up and to print the result.
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });

const resultOf = (report, status) => {
  const passed = report?.numPassedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  // A file that cannot be loaded has no tests that could fail, and an error outside of tests belongs to no test.
  const brokenFiles = (report?.testResults ?? []).filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  );
  const counted = (report?.numFailedTests ?? 0) + brokenFiles.length;
  const ranNothing = passed + counted === 0;
  const failed = counted === 0 && (status !== 0 || ranNothing) ? 1 : counted;
  return { passed, failed, skipped, status: status === 0 && failed > 0 ? 1 : status };
};

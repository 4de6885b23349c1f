// npm run verify: every check of the house, then all tests. All failures are told, not only the first.
import { spawnSync } from 'node:child_process';
import { installWhenNeeded, root, toolEnvironment } from './node24.mjs';
import { runTests } from './run-tests.mjs';

const CHECKS = [
  { name: 'format', command: ['oxfmt', '--check', '.'], remedy: 'npm run format' },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'], remedy: 'npm run lint' },
  { name: 'types', command: ['tsc'] },
  { name: 'boundaries between workspaces', command: ['turbo', 'boundaries'] },
  { name: 'unused code and dependencies', command: ['knip'] },
  { name: 'versions in the workspaces', command: ['sherif'] },
];

const passes = ({ name, command: [tool, ...args], remedy }) => {
  const env = { ...toolEnvironment(), TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', NO_COLOR: '1' };
  const started = performance.now();
  const options = { cwd: root, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 };
  const { status, stdout, stderr, error } = spawnSync(tool, args, options);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'}  ${name} (${[tool, ...args].join(' ')}, ${seconds} s)`);
  if (status === 0) return true;
  console.log(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim());
  if (remedy !== undefined) console.log(`Much of this is repaired by: ${remedy}`);
  return false;
};

if (!installWhenNeeded()) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const failures = CHECKS.filter((check) => !passes(check)).map(({ name }) => name);
const withTests = !process.argv.includes('--no-tests');
const tests = withTests ? await runTests([]) : { status: 0, line: undefined };
if (tests.status !== 0) failures.push('tests');

console.log(failures.length === 0 ? 'Verified.' : `Failed: ${failures.join('; ')}.`);
if (tests.line !== undefined) console.log(tests.line);
process.exitCode = failures.length === 0 ? 0 : 1;

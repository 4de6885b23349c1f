import { spawnSync } from 'node:child_process';
import { root, toolEnvironment } from './node24.mjs';

const CHECKS = [
  { name: 'format', command: ['oxfmt', '--check', '.'], remedy: 'npm run format' },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'], remedy: 'npm run lint' },
  { name: 'types', command: ['tsc'] },
  { name: 'types of the console', command: ['tsc', '--project', 'apps/console'] },
  { name: 'marks of merge conflicts', command: ['node', 'scripts/checks/conflict-marks.ts'] },
  { name: 'boundaries between workspaces', command: ['turbo', 'boundaries'] },
  { name: 'unused code and dependencies', command: ['knip'] },
  { name: 'versions in the workspaces', command: ['sherif'] },
];

/** Runs all checks, even after a failure, and returns the names of the failed ones. */
export const failedChecks = () => CHECKS.filter((check) => !passes(check)).map(({ name }) => name);

const passes = ({ name, command: [tool, ...args], remedy }) => {
  const env = { ...toolEnvironment(), TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', NO_COLOR: '1' };
  const started = performance.now();
  const options = { cwd: root, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 };
  const { status, stdout, stderr, error } = spawnSync(tool, args, options);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'}  ${name} (${[tool, ...args].join(' ')}, ${seconds} s)`);
  if (status === 0) return true;
  console.log(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim());
  if (remedy !== undefined) console.log(`This repairs most of it: ${remedy}`);
  return false;
};

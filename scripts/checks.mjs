import { spawnSync } from 'node:child_process';
import { CHECKOUT, changedFiles, isCode, isOfConsole, nearestTests } from './changed.mjs';
import { root, toolEnvironment } from './node24.mjs';

const LINT = ['oxlint', '--type-aware', '--deny-warnings'];
const CHECKS = [
  { name: 'format', command: ['oxfmt', '--check', '.'], remedy: 'npm run format' },
  { name: 'lint', command: LINT, remedy: 'npm run lint' },
  { name: 'types', command: ['tsc'] },
  { name: 'types of the console', command: ['tsc', '--project', 'apps/console'] },
  { name: 'marks of merge conflicts', command: ['node', 'scripts/checks/conflict-marks.ts'] },
  { name: 'boundaries between workspaces', command: ['turbo', 'boundaries'] },
  { name: 'unused code and dependencies', command: ['knip'] },
  { name: 'versions in the workspaces', command: ['sherif'] },
];

/** More tests than these are left to `npm test -- --affected`. */
const MOST_TESTS = 20;

/** The checks of a small change: only what differs from the branch main, and the types of what that concerns. */
const checksOfChange = () => {
  const files = changedFiles();
  const code = files.filter(isCode);
  const tests = nearestTests(files, CHECKOUT);
  const nearest = tests.slice(0, MOST_TESTS);
  if (tests.length > nearest.length)
    console.log(`${tests.length - nearest.length} tests are left out: npm test -- --affected runs all.`);
  const types = (name, ...project) => ({
    name,
    command: ['tsc', '--incremental', '--tsBuildInfoFile', `.cache/${name}.tsbuildinfo`, ...project],
  });
  const isOfRest = (file) => !isOfConsole(file);
  return [
    {
      name: 'format',
      command: ['oxfmt', '--check', UNMATCHED, ...files],
      when: files,
      remedy: 'npm run format',
    },
    { name: 'lint', command: [...LINT, UNMATCHED, ...code], when: code, remedy: 'npm run lint' },
    { ...types('types'), when: code.filter(isOfRest) },
    { ...types('types of the console', '--project', 'apps/console'), when: code.filter(isOfConsole) },
    { name: 'tests', command: ['vitest', 'run', '--project', 'service', ...nearest], when: nearest },
  ].filter(({ when }) => when.length > 0);
};

const UNMATCHED = '--no-error-on-unmatched-pattern';

/** Runs all checks, even after a failure, and returns the names of the failed ones. */
export const failedChecks = ({ changed = false } = {}) =>
  (changed ? checksOfChange() : CHECKS).filter((check) => !passes(check)).map(({ name }) => name);

const passes = ({ name, command: [tool, ...args], remedy }) => {
  const env = { ...toolEnvironment(), TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', NO_COLOR: '1' };
  const started = performance.now();
  const options = { cwd: root, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 };
  const { status, stdout, stderr, error } = spawnSync(tool, args, options);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'}  ${name} (${shown([tool, ...args])}, ${seconds} s)`);
  if (status === 0) return true;
  console.log(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim());
  if (remedy !== undefined) console.log(`This repairs most of it: ${remedy}`);
  return false;
};

/** Not all files of a large change. */
const shown = (words) => (words.length > 8 ? `${words.slice(0, 8).join(' ')} …` : words.join(' '));

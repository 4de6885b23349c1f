import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
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

/** Runs all checks beside each other, even after a failure, and returns the names of the failed ones. */
export const failedChecks = async ({ changed = false } = {}) => {
  const checks = changed ? checksOfChange() : CHECKS;
  const outcomes = await Promise.all(checks.map(passes));
  return checks.filter((_check, n) => !outcomes[n]).map(({ name }) => name);
};

const passes = async ({ name, command: [tool, ...args], remedy }) => {
  const env = { ...toolEnvironment(), TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', NO_COLOR: '1' };
  const started = performance.now();
  const said = await saidBy(tool, args, { cwd: root, env, maxBuffer: 64 * 1024 * 1024 });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const command = shown([tool, ...args]);
  console.log(`${said === undefined ? 'ok    ' : 'FAILED'}  ${name} (${command}, ${seconds} s)`);
  if (said === undefined) return true;
  console.log(said.trim());
  if (remedy !== undefined) console.log(`This repairs most of it: ${remedy}`);
  return false;
};

/** What a tool said before it failed; undefined when it did not. */
const saidBy = async (tool, args, options) => {
  try {
    await promisify(execFile)(tool, args, options);
    return undefined;
  } catch ({ stdout, stderr, message }) {
    return `${stdout}${stderr}` || message;
  }
};

/** Not all files of a large change. */
const shown = (words) => (words.length > 8 ? `${words.slice(0, 8).join(' ')} …` : words.join(' '));

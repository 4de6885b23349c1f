// npm test runs the pure tests and those of one service, or the files of the arguments. npm test -- --affected runs those of
// the changed workspaces and their dependents. npm run test:system runs the tests that kill, pause and start many processes, and
// npm run test:nightly those that take hours, and all others again with every combination and five times as many random cases.
// The last line is the result.
import { installWhenNeeded } from './install.mjs';
import { runAffectedTests, runTests } from './run-tests.mjs';
import { printResult } from './test-result.mjs';

const [first, ...others] = process.argv.slice(2);
const tier = /^--(system|nightly)$/.exec(first ?? '')?.[1];
const env = tier === 'nightly' ? { RUNLEDGER_TEST_NIGHTLY: '1' } : {};
const projects = tier === 'nightly' ? ['service', 'system', 'nightly'] : [tier ?? 'service'];
const args = first === undefined || tier !== undefined ? others : [first, ...others];
/** A test of another tier in the arguments runs even without its option. */
const namesOtherTier = args.some((arg) => !arg.startsWith('-') && /(^|\/)(system|nightly)(\/|$)/.test(arg));

if (!installWhenNeeded()) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const options = namesOtherTier ? [] : projects.flatMap((project) => ['--project', project]);
printResult(
  first === '--affected' ? await runAffectedTests() : await runTests([...options, ...args], { env }),
);

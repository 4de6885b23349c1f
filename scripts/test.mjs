// npm test runs the pure tests and those of one service, or the files of the arguments. npm test -- --affected runs those of
// the changed workspaces and their dependents. npm run test:system runs the tests that kill, pause and start many processes.
// The last line is the result.
import { installWhenNeeded } from './install.mjs';
import { runAffectedTests, runTests } from './run-tests.mjs';
import { printResult } from './test-result.mjs';

const [first, ...others] = process.argv.slice(2);
const project = first === '--system' ? 'system' : 'service';
const args = first === undefined || first === '--system' ? others : [first, ...others];
/** A system test in the arguments runs even without --system. */
const namesSystemTest = args.some((arg) => !arg.startsWith('-') && /(^|\/)system(\/|$)/.test(arg));

if (!installWhenNeeded()) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const projects = namesSystemTest ? [] : ['--project', project];
printResult(first === '--affected' ? await runAffectedTests() : await runTests([...projects, ...args]));

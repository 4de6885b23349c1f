// npm test: the pure tests and those of one service, or the files that the arguments name. The last line is the result.
// npm test -- --affected: those of the workspaces that a change concerns. npm run test:system: the tests that kill, pause and
// start many processes. All print the same last line.
import { installWhenNeeded } from './node24.mjs';
import { reportResult, runAffectedTests, runTests } from './run-tests.mjs';

const [first, ...others] = process.argv.slice(2);
const project = first === '--system' ? 'system' : 'service';
const args = first === undefined || first === '--system' ? others : [first, ...others];
/** A system test that is named runs also without --system. */
const namesSystemTest = args.some((arg) => !arg.startsWith('-') && /(^|\/)system(\/|$)/.test(arg));

if (!installWhenNeeded()) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const projects = namesSystemTest ? [] : ['--project', project];
reportResult(first === '--affected' ? await runAffectedTests() : await runTests([...projects, ...args]));

// npm test: all tests, or those that the arguments name. The last line is the result.
import { installWhenNeeded } from './node24.mjs';
import { runTests } from './run-tests.mjs';

if (!installWhenNeeded()) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const { line, status, ranNothing } = await runTests(process.argv.slice(2));
if (ranNothing) console.log('No test ran. Are the names right that were given?');
console.log(line);
process.exitCode = status;

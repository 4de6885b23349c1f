// A change must pass this: all checks, then the tests of both tiers. It shows all failures, not only the first.
import { signaturesAreRight } from './audit-signatures.mjs';
import { failedChecks } from './checks.mjs';
import { installWhenNeeded } from './install.mjs';
import { runTests } from './run-tests.mjs';
import { printResult, sumOf } from './test-result.mjs';

if (!installWhenNeeded()) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const failed = await failedChecks();
if (!signaturesAreRight()) failed.push('npm audit signatures');
const service = await runTests(['--project', 'service']);
const system = await runTests(['--project', 'system']);
if (service.status !== 0) failed.push('npm test');
if (system.status !== 0) failed.push('npm run test:system');

console.log(failed.length === 0 ? 'Verified.' : `Failed: ${failed.join('; ')}.`);
printResult(sumOf([service, system]));
if (failed.length > 0) process.exitCode = 1;

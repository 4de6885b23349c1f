// A change must pass this: all checks, then the tests of both tiers. It shows all failures, not only the first.
import { failedChecks } from './checks.mjs';
import { installWhenNeeded } from './node24.mjs';
import { reportResult, runTests, sumOf } from './run-tests.mjs';

if (!installWhenNeeded()) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const failed = failedChecks();
const service = await runTests(['--project', 'service']);
const system = await runTests(['--project', 'system']);
if (service.status !== 0) failed.push('npm test');
if (system.status !== 0) failed.push('npm run test:system');

console.log(failed.length === 0 ? 'Verified.' : `Failed: ${failed.join('; ')}.`);
reportResult(sumOf([service, system]));
if (failed.length > 0) process.exitCode = 1;

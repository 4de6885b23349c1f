// npm run verify: every check that runs no test: format, lint, types, boundaries, unused code, versions.
import { failedChecks } from './checks.mjs';
import { installWhenNeeded } from './node24.mjs';

if (!installWhenNeeded()) process.exit(1);
const failed = failedChecks();
console.log(failed.length === 0 ? 'Verified.' : `Failed: ${failed.join('; ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;

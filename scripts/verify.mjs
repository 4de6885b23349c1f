// npm run verify: all checks except the tests: format, lint, types, folders, boundaries, unused code, versions.
import { failedChecks } from './checks.mjs';
import { installWhenNeeded } from './install.mjs';

if (!installWhenNeeded()) process.exit(1);
const failed = failedChecks();
console.log(failed.length === 0 ? 'Verified.' : `Failed: ${failed.join('; ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;

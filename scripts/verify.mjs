// npm run verify: all checks except the tests: format, lint, types, folders, boundaries, unused code, versions.
// npm run verify -- --changed: of what differs from the branch main, with the nearest tests.
import { failedChecks } from './checks.mjs';
import { installWhenNeeded } from './install.mjs';

if (!installWhenNeeded()) process.exit(1);
const failed = await failedChecks({ changed: process.argv.includes('--changed') });
console.log(failed.length === 0 ? 'Verified.' : `Failed: ${failed.join('; ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;

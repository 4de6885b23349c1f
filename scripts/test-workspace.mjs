// The test task of a workspace, which turbo starts in its folder. It runs the tests of the service tier. turbo caches the report.
import { relative } from 'node:path';
import { root } from './node24.mjs';
import { WORKSPACE_REPORT, runTests } from './run-tests.mjs';

const folder = `${relative(root, process.cwd()) || 'scripts'}/`;
const { status } = await runTests(['--project', 'service', '--passWithNoTests', folder], {
  reportFile: WORKSPACE_REPORT,
});
process.exitCode = status;

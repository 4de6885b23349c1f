// The test task of a workspace, which turbo starts in its folder: its tests of the first tier. The report is the output that
// turbo keeps in its cache.
import { relative } from 'node:path';
import { root } from './node24.mjs';
import { WORKSPACE_REPORT, runTests } from './run-tests.mjs';

const folder = `${relative(root, process.cwd()) || 'scripts'}/`;
const { status } = await runTests(['--project', 'service', '--passWithNoTests', folder], WORKSPACE_REPORT);
process.exitCode = status;

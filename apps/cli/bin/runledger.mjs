#!/usr/bin/env node
import { join } from 'node:path';
// @boundaries-ignore the scripts of the repository are not a package, and must run before anything is installed
import { root } from '../../../scripts/node24.mjs';
// @boundaries-ignore as above
import { runProgram } from '../../../scripts/run-program.mjs';

await runProgram(join(root, 'apps/cli/src/main.ts'), process.argv.slice(2));

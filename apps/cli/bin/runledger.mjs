#!/usr/bin/env node
import { join } from 'node:path';
// @boundaries-ignore the scripts of the repository are not a package, and must run before anything is installed
import { root, runWithNode24 } from '../../../scripts/node24.mjs';

runWithNode24([join(root, 'apps/cli/src/main.ts'), ...process.argv.slice(2)]);

// Runs a source file on Node 24 after an install: `node scripts/run.mjs FILE [arguments]`, with FILE relative to the current folder.
import { resolve } from 'node:path';
import { installWhenNeeded } from './install.mjs';
import { runWithNode24 } from './node24.mjs';

const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  console.error('Name the file to run, such as node scripts/run.mjs apps/standalone/src/main.ts');
  process.exit(2);
}
if (!installWhenNeeded()) process.exit(1);
runWithNode24([resolve(file), ...args]);

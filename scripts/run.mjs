// Runs a source file on Node 24 after an install: `node scripts/run.mjs [--omit=dev] [--console] FILE [arguments]`, with FILE relative
// to the current folder. With --omit=dev, as in npm, what only tests and checks need is not installed. With --console, the program
// gets the built console.
import { resolve } from 'node:path';
import { builtConsole } from './build/console.mjs';
import { installWhenNeeded } from './install.mjs';
import { runProgram } from './run-program.mjs';

const given = process.argv.slice(2);
const takes = (flag) => given[0] === flag && given.shift() === flag;
const omitDev = takes('--omit=dev');
const withConsole = takes('--console');
const [file, ...args] = given;
if (file === undefined) {
  console.error('Name the file to run, such as node scripts/run.mjs apps/standalone/src/main.ts');
  process.exit(2);
}
if (!installWhenNeeded({ omitDev })) process.exit(1);
await runProgram(resolve(file), args, withConsole ? builtConsole() : {});

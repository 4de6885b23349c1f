// Starts a source file, or its bundle, on Node 24. Plain JavaScript that Node 20 can run, like node24.mjs.
import { pathToFileURL } from 'node:url';
import { BUNDLES, bundleOf, currentBundles } from './build/bundles.mjs';
import { findNode24, runWithNode24 } from './node24.mjs';

/** Runs it with these arguments and variables, and ends this process with the same status. */
export const runProgram = async (source, args, variables = {}) => {
  const bundles = currentBundles();
  const env = { ...variables, ...(bundles !== undefined && { [BUNDLES]: bundles }) };
  const file = bundleOf(source, bundles);
  if (file === source || findNode24() !== process.execPath) return runWithNode24([file, ...args], env);
  // A second process would only cost time. Nothing but its environment and arguments tells the program how it was started.
  Object.assign(process.env, env);
  process.argv.splice(1, Infinity, file, ...args);
  await import(pathToFileURL(file).href);
};

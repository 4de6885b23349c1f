import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Names the folder of bundles that a start script has made (`scripts/build/bundles.mjs`, ADR 83). */
const BUNDLES = 'RUNLEDGER_BUNDLES';
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** What the environment of a child process needs, so that it finds the bundles too. */
export const bundlesVariable = (env = process.env): Readonly<Record<string, string>> =>
  env[BUNDLES] === undefined ? {} : { [BUNDLES]: env[BUNDLES] };

/** The file to start for a program: its bundle if there is one, else its source. `source` is an absolute path. */
export const programFile = (source: string, env = process.env): string => {
  const folder = env[BUNDLES];
  if (folder === undefined) return source;
  const bundle = join(folder, relative(ROOT, source).replace(/\.ts$/, '.mjs'));
  return existsSync(bundle) ? bundle : source;
};

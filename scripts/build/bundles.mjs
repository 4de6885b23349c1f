// The bundles of the programs that are started often: one file, or a few, instead of a thousand modules (ADR 83). They are made again
// when a source has changed. Plain JavaScript that Node 20 can run, like node24.mjs.
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../node24.mjs';
import { cachedBuild } from './cached-build.mjs';

/** Tells programs the folder, so that they start others from there. */
export const BUNDLES = 'RUNLEDGER_BUNDLES';

/** The folder of bundles of the sources as they are now. Undefined, with the reason on stderr, if they cannot be made. */
export const currentBundles = () => process.env[BUNDLES] ?? madeBundles();

/** The bundle of a source file in this folder, or the source itself if it has none. */
export const bundleOf = (source, folder) => {
  const bundle = folder && join(folder, relative(root, source).replace(/\.ts$/, '.mjs'));
  return bundle && existsSync(bundle) ? bundle : source;
};

const madeBundles = () => {
  try {
    return cachedBuild({ name: 'runledger-bundles', maker: 'scripts/build/make-bundles.mjs' });
  } catch (error) {
    console.error(`Starting from source, which takes longer: the bundles cannot be made. ${error.message}`);
    return undefined;
  }
};

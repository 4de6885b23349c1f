// Bundles the programs that are started often (ADR 83): `node scripts/build/make-bundles.mjs FOLDER`. A bundle has the path of its source
// below FOLDER, with the end .mjs. It prints the files of ours that it read, as JSON.
import { sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { root } from '../node24.mjs';

/** They share what they have in common. */
const PROGRAMS = [
  'apps/cli/src/main',
  'apps/standalone/src/main',
  'services/gateway/src/main',
  'services/gateway/src/views/rebuild/build-worker',
  'services/scheduler/src/main',
  'services/gpu-executor/src/main',
  'services/notifier/src/main',
];
/** One file each, because nothing else of the installation is in the view of these processes. */
const SINGLE_FILES = [
  'services/gpu-executor/src/probe/probe-program',
  'services/gpu-executor/src/supervision/supervisor',
  'apps/standalone/src/sample/render-image',
];
/** It has a library for the system in a folder of its own. */
const EXTERNAL = [/^koffi$/];

const isOurs = (file) => file.startsWith(`${root}${sep}`) && !file.includes('/node_modules/');

/** Code that names files from where it is itself finds them from its source. */
const addressesOfSources = {
  name: 'addresses-of-sources',
  transform: (code, file) =>
    isOurs(file) && code.includes('import.meta.url')
      ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href))
      : null,
};

const bundle = async (names, folder, codeSplitting) => {
  const built = await rolldown({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, `${name}.ts`])),
    platform: 'node',
    external: EXTERNAL,
    plugins: [addressesOfSources],
    // The dependencies are theirs.
    logLevel: 'silent',
  });
  await built.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: 'shared/[name]-[hash].mjs',
    codeSplitting,
    // Errors are known by the names of their classes.
    keepNames: true,
    sourcemap: true,
  });
  const read = await built.watchFiles;
  await built.close();
  return read;
};

const [folder] = process.argv.slice(2);
const read = [await bundle(PROGRAMS, folder, true)];
for (const name of SINGLE_FILES) read.push(await bundle([name], folder, false));
console.log(JSON.stringify([...new Set(read.flat())].filter(isOurs)));

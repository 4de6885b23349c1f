// Bundles the programs that are started often (ADR 83): `node scripts/build/make-bundles.mjs FOLDER`. A bundle has the path of its source
// below FOLDER, with the end .mjs. It prints the files of ours that it read, as JSON.
import { isBuiltin } from 'node:module';
import { sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { root } from '../node24.mjs';

/** Each has a file, and one more for each thing that it loads only when it is needed: to find a hundred shared ones takes a quarter of a start. */
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

/**
 * Node makes an ES module of each of its own modules that is imported, and reads all that it exports for that: of node:http also what loads
 * its whole client of HTTP, 20 ms of each start. So a bundle asks for them by a call.
 */
const builtinsByCall = {
  name: 'builtins-by-call',
  renderChunk: (code) => code.replace(IMPORT, byCall),
};
const IMPORT =
  /^import (?:(?:\* as )?(?<all>[\w$]+))?(?:, )?(?:\{(?<some>[^}]*)\})? ?from "(?<id>[^"]+)";$/gm;
const byCall = (line, all, some, id) => {
  if (!isBuiltin(id)) return line;
  const bound = [all, some && `{${some.replaceAll(' as ', ': ')}}`].filter(Boolean);
  return `const ${bound.map((names) => `${names} = globalThis.process.getBuiltinModule("${id}")`).join(', ')};`;
};

const bundle = async (name, folder, codeSplitting) => {
  const built = await rolldown({
    cwd: root,
    input: { [name]: `${name}.ts` },
    platform: 'node',
    external: EXTERNAL,
    plugins: [addressesOfSources, builtinsByCall],
    // The dependencies are theirs.
    logLevel: 'silent',
  });
  await built.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: 'parts/[name]-[hash].mjs',
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
const read = await Promise.all([
  ...PROGRAMS.map((name) => bundle(name, folder, true)),
  ...SINGLE_FILES.map((name) => bundle(name, folder, false)),
]);
console.log(JSON.stringify([...new Set(read.flat())].filter(isOurs)));

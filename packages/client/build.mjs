/** Builds the package into dist: as ES modules, and in dist/cjs as CommonJS for projects that still `require`. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const tsc = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
const build = (...options) =>
  execFileSync(process.execPath, [tsc, '--project', 'tsconfig.json', ...options], {
    cwd: import.meta.dirname,
    stdio: 'inherit',
  });

build();
build(
  '--outDir',
  'dist/cjs',
  '--module',
  'commonjs',
  '--moduleResolution',
  'node10',
  '--verbatimModuleSyntax',
  'false',
);
// Its .js files are no ES modules, whatever the package around them says.
writeFileSync(new URL('dist/cjs/package.json', import.meta.url), '{ "type": "commonjs" }\n');

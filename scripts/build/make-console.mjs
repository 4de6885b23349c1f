// Builds the console: `node scripts/build/make-console.mjs FOLDER`. It prints the files of ours that it read, as JSON.
import { join, sep } from 'node:path';
import { build } from 'vite';
import { root } from '../node24.mjs';

// Whatever the caller is, such as a test: React has a larger form for development.
process.env.NODE_ENV = 'production';
const workspace = join(root, 'apps', 'console');
const [folder] = process.argv.slice(2);
const read = new Set([join(workspace, 'index.html'), join(workspace, 'vite.config.ts')]);
const reader = {
  name: 'files-of-ours',
  moduleParsed({ id }) {
    const [path] = id.split('?');
    if (path.startsWith(root + sep) && !path.includes(`${sep}node_modules${sep}`)) read.add(path);
  },
};
await build({
  root: workspace,
  logLevel: 'error',
  plugins: [reader],
  worker: { plugins: () => [reader] },
  build: { outDir: folder, emptyOutDir: true },
});
console.log(JSON.stringify([...read]));

// Builds the console: `node scripts/build/make-console.mjs FOLDER`. It prints the files of ours that it read, as JSON.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { root } from '../node24.mjs';

// Whatever the caller is, such as a test: React has a larger form for development.
process.env.NODE_ENV = 'production';
const workspace = join(root, 'apps', 'console');
const [folder] = process.argv.slice(2);
await build({ root: workspace, logLevel: 'error', build: { outDir: folder, emptyOutDir: true } });
const sources = readdirSync(join(workspace, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
console.log(JSON.stringify([...sources, join(workspace, 'index.html'), join(workspace, 'vite.config.ts')]));

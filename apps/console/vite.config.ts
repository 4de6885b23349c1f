import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Its package is built when it is packed. */
const CLIENT_SOURCE = join(import.meta.dirname, '../../packages/client/src/main.ts');

/** The gateway serves the files under `/console`. Nothing is inlined, because its policy allows no script or style in a page. */
export default defineConfig({
  base: '/console/',
  plugins: [react()],
  resolve: { alias: [{ find: /^@runledger\/client$/, replacement: CLIENT_SOURCE }] },
  worker: { format: 'es' },
  build: {
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    reportCompressedSize: false,
  },
});

import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The gateway serves the files under `/console`. Nothing is inlined, because its policy allows no script or style in a page. */
export default defineConfig({
  base: '/console/',
  plugins: [react()],
  // The paths of tsconfig.json name the source of the client, whose package is built when it is packed.
  resolve: { tsconfigPaths: true },
  worker: { format: 'es' },
  build: {
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    reportCompressedSize: false,
  },
});

import { registerHooks } from 'node:module';

// Preloaded into a gateway (`--import`): it sweeps often, and finds blobs old after seconds instead of an hour.
const TIMES = `
  export const ERASED_AFTER_MS = 3_000;
  export const SWEEP_EVERY_MS = 500;
  export const UNREFERENCED_FOR_MS = ERASED_AFTER_MS + 3 * SWEEP_EVERY_MS;
`;

registerHooks({
  load: (url, context, next) =>
    url.endsWith('/src/records/quotas/sweep-times.ts')
      ? { format: 'module', source: TIMES, shortCircuit: true }
      : next(url, context),
});

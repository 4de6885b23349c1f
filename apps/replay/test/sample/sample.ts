import { join } from 'node:path';

/** Some minutes of real services, and the settings that its schedulers had, as JSON. `record-sample.ts` made them. */
export const sampleIn = (folder: string): { readonly slice: string; readonly settings: string } => ({
  slice: join(folder, 'sample.ndjson.zst'),
  settings: join(folder, 'sample-settings.json'),
});

export const SAMPLE = sampleIn(import.meta.dirname);

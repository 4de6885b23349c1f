import { afterAll } from 'vitest';
import { processorTime } from '../measuring.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The processor time that a test file took, with the processes that it started. */
    processorMs?: number;
  }
}

// vitest runs this before each test file, and so before its imports.
const before = processorTime();

// oxlint-disable-next-line no-empty-pattern -- vitest reads which fixtures the pattern names
afterAll(({}, suite) => {
  // A process that nobody waited for takes its time with it.
  suite.file.meta.processorMs = Math.max(0, processorTime() - before);
});

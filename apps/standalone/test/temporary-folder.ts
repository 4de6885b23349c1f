import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty folder that is removed when the test has ended. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'runledger-standalone-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparable, laidOut, pageOf, partsOf, replayed } from '../../fixtures/pages/session.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const page = fileURLToPath(new URL('../../../../../docs/run-api.md', import.meta.url));
/** After a change of the API: writes the answers into the page instead of comparing them. */
const writes = process.env['RUNLEDGER_WRITE_DOCS'] === '1';

let standalone: Standalone;
beforeAll(async () => {
  standalone = await startStandalone({ env: { EXECUTOR_GPUS: 'A10G:2', EXECUTOR_NAME: 'desk' } });
});
afterAll(() => standalone.stop());

describe('the session of the documentation', () => {
  it('gives the documented answers', async () => {
    // Where its reader is: in a clone in which Runledger runs.
    const folder = temporaryFolder();
    await symlink(standalone.dataFolder, join(folder, '.runledger'));
    const parts = partsOf(await readFile(page, 'utf8'));
    const answered = await replayed(parts, { folder, env: {}, isStrict: true });
    if (writes) await writeFile(page, pageOf(answered));
    const described = partsOf(await readFile(page, 'utf8')).map(laidOut);
    expect(comparable(pageOf(answered))).toBe(comparable(pageOf(described)));
  });
});

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { comparable, pageOf, partsOf, replayed } from '../../fixtures/pages/session.ts';
import { startStandalone } from '../../fixtures/start-standalone.ts';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));
const page = join(ROOT, 'docs', 'debugging.md');
const picture = join(ROOT, 'docs', 'debugging', 'run-history.svg');
/** After a change of what the screen shows: writes the answers and the picture instead of comparing them. */
const writes = process.env['RUNLEDGER_WRITE_DOCS'] === '1';

const FILES = /\b(?:run\.svg|night\.ndjson\.zst)\b/g;

/** Without what differs between runs: positions, lengths of time, keys. */
const steady = (text: string): string =>
  comparable(text)
    .replaceAll(/TIME +\d+ /g, 'TIME N ')
    .replaceAll(/(?<="head": |RUNS |position )\d+/g, 'N')
    .replaceAll(/\b\d+(?:\.\d+)? s\b/g, 'N s')
    .replaceAll(/slot \d|\d+ bytes|(?<=duration: - -> )[\d.]+/g, 'N')
    .replaceAll(/MCow[\w-]+/g, 'PUBLIC_KEY');

it('the page about debugging shows what happens', { timeout: 180_000 }, async () => {
  // The limit that the page finds.
  const settings = { EXECUTOR_GPUS: 'A10G:2', EXECUTOR_NAME: 'desk', RUNLEDGER_ORG_LIMITS: '*:1' };
  await using standalone = await startStandalone({ env: settings });
  const { dataFolder } = standalone;
  const written = await readFile(page, 'utf8');
  // The commands are found in the folder of the repository. What they write goes elsewhere.
  const parts = partsOf(written.replaceAll(FILES, (file) => join(dataFolder, file)));
  const env = { RUNLEDGER_DATA_DIR: dataFolder, HOME: dataFolder };
  const now = pageOf(await replayed(parts, { folder: ROOT, env })).replaceAll(join(dataFolder, '/'), '');
  if (writes) {
    await writeFile(page, now);
    await writeFile(picture, await readFile(join(dataFolder, 'run.svg')));
  }
  expect(steady(now)).toBe(steady(await readFile(page, 'utf8')));
});

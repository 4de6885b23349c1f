import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparable, laidOut, pageOf, partsOf, scriptOf, type Part } from '../fixtures/session.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const page = fileURLToPath(new URL('../../../../docs/run-api.md', import.meta.url));
const BETWEEN = '--- the next answer ---';
/** After a change of the API: writes the answers into the page instead of comparing them. */
const writes = process.env['RUNLEDGER_WRITE_DOCS'] === '1';

let standalone: Standalone;
beforeAll(async () => {
  standalone = await startStandalone({ env: { EXECUTOR_GPUS: 'A10G:2', EXECUTOR_NAME: 'desk' } });
});
afterAll(() => standalone.stop());

/** The answer of each block of commands. */
const replay = (parts: readonly Part[], folder: string): string[] => {
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', scriptOf(parts, BETWEEN)], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      BASE: standalone.url,
      KEY: standalone.api_key,
      DEPLOYMENT: standalone.deployment_id,
    },
    encoding: 'utf8',
    timeout: 120_000,
  });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.split(`\n${BETWEEN}\n`).map((answer) => answer.replace(/^\n+/, '').trimEnd());
};

describe('the session of the documentation', () => {
  it('gives the documented answers', async () => {
    const folder = temporaryFolder();
    const parts = partsOf(await readFile(page, 'utf8'));
    const answers = replay(parts, folder);
    let block = -1;
    const replayed = parts.map((part): Part => {
      if (part.kind === 'commands' && part.fence === 'sh') block += 1;
      if (part.kind !== 'answer') return part;
      return laidOut({ ...part, text: `${answers[block] ?? ''}\n` });
    });
    if (writes) await writeFile(page, pageOf(replayed));
    const described = partsOf(await readFile(page, 'utf8')).map(laidOut);
    expect(comparable(pageOf(replayed))).toBe(comparable(pageOf(described)));
  });
});

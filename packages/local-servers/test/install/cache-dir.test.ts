import { chmod, mkdtempDisposable, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openCacheDir } from '../../src/install/cache-dir.ts';

const temporaryFolder = () => mkdtempDisposable(join(tmpdir(), 'runledger-cache-dir-'));

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('the cache folder', () => {
  it('is the one that RUNLEDGER_CACHE_DIR names, made when it is not there', async () => {
    await using folder = await temporaryFolder();
    const wanted = join(folder.path, 'a', 'b');
    const env = { RUNLEDGER_CACHE_DIR: wanted, XDG_CACHE_HOME: folder.path, HOME: folder.path };
    expect(await openCacheDir(env)).toBe(wanted);
    expect((await stat(wanted)).mode & 0o777).toBe(0o700);
  });

  it.each(['relative/folder', '/dev/null/folder'])(
    'is not looked for elsewhere when %s was named',
    async (named) => {
      await expect(openCacheDir({ RUNLEDGER_CACHE_DIR: named })).rejects.toThrow('Name another folder');
    },
  );

  it('follows XDG_CACHE_HOME, then HOME', async () => {
    await using folder = await temporaryFolder();
    const xdg = join(folder.path, 'xdg');
    const env = { XDG_CACHE_HOME: xdg, HOME: folder.path };
    expect(await openCacheDir(env)).toBe(join(xdg, 'runledger'));
    expect(await openCacheDir({ ...env, XDG_CACHE_HOME: 'relative' })).toBe(
      join(folder.path, '.cache', 'runledger'),
    );
  });

  it('is a private temporary one when the home cannot be written', async () => {
    await using temporary = await temporaryFolder();
    vi.stubEnv('TMPDIR', temporary.path);
    const folder = await openCacheDir({ HOME: '/dev/null' });
    expect(dirname(folder)).toBe(temporary.path);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it('is no temporary one that others can write', async () => {
    await using temporary = await temporaryFolder();
    vi.stubEnv('TMPDIR', temporary.path);
    await chmod(await openCacheDir({ HOME: '/dev/null' }), 0o777);
    await expect(openCacheDir({ HOME: '/dev/null' })).rejects.toThrow('Set RUNLEDGER_CACHE_DIR');
  });
});

import { chmod, mkdtempDisposable, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openCacheDir } from '../src/cache-dir.ts';

const temporaryFolder = () => mkdtempDisposable(join(tmpdir(), 'runledger-cache-dir-'));

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('the cache folder', () => {
  it('is RUNLEDGER_CACHE_DIR, created if it does not exist', async () => {
    await using folder = await temporaryFolder();
    const wanted = join(folder.path, 'a', 'b');
    const env = { RUNLEDGER_CACHE_DIR: wanted, XDG_CACHE_HOME: folder.path, HOME: folder.path };
    expect(await openCacheDir(env)).toBe(wanted);
    expect((await stat(wanted)).mode & 0o777).toBe(0o700);
  });

  it.each(['relative/folder', '/dev/null/folder'])(
    'is refused if RUNLEDGER_CACHE_DIR is %s',
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

  it('is a private temporary folder if the home is not writable', async () => {
    await using temporary = await temporaryFolder();
    vi.stubEnv('TMPDIR', temporary.path);
    const folder = await openCacheDir({ HOME: '/dev/null' });
    expect(dirname(folder)).toBe(temporary.path);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it('is never a temporary folder that other users can write to', async () => {
    await using temporary = await temporaryFolder();
    vi.stubEnv('TMPDIR', temporary.path);
    await chmod(await openCacheDir({ HOME: '/dev/null' }), 0o777);
    await expect(openCacheDir({ HOME: '/dev/null' })).rejects.toThrow('Set RUNLEDGER_CACHE_DIR');
  });
});

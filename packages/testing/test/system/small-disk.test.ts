import { spawnSync } from 'node:child_process';
import { mkdtempDisposable, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSmallDisk, whyNoSmallDisk } from '../../src/servers/small-disk.ts';

describe('a small disk', () => {
  it('keeps its files from one process to the next, and can be full', async (context) => {
    const why = whyNoSmallDisk();
    if (why !== undefined) return context.skip(why);
    await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-small-disk-'));
    const path = join(folder.path, 'disk');
    await using disk = await openSmallDisk(path, 1024 ** 2);
    const shell = (script: string): string => {
      const [file = '', ...args] = disk.through;
      const { stdout, stderr } = spawnSync(file, [...args, 'sh', '-c', script], { encoding: 'utf8' });
      return (stdout + stderr).trim();
    };
    const copy = `head -c 100000 /dev/zero > ${path}/copy; rm ${path}/copy`;

    shell(`echo kept > ${path}/file`);
    expect(shell(`cat ${path}/file`)).toBe('kept');
    expect(await readdir(path)).toEqual([]);
    disk.fill();
    expect(shell(copy)).toContain('No space left on device');
    shell(`rm ${path}/file`);
    disk.fill();
    expect(shell(copy)).toContain('No space left on device');
    disk.freeSpace();
    expect(shell(copy)).toBe('');
    disk.empty();
    expect(shell(`ls ${path}`)).toBe('');
  });
});

import { mkdirSync, writeFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { folderBytes } from '../../src/folders/folder-size.ts';
import { watchDisk } from '../../src/supervision/enforcement.ts';
import { asOwner } from '../fixtures/ordinary-owner.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const MIB = 1024 ** 2;

const folderWith = (bytes: number, below = '.'): string => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, below), { recursive: true });
  writeFileSync(join(folder, below, 'file'), Buffer.alloc(bytes, 1));
  return folder;
};

describe('the size of a folder', () => {
  it('is what it has on the disk, with everything below', async () => {
    const bytes = await folderBytes(folderWith(3 * MIB, 'a/b/c'));
    expect(bytes).toBeGreaterThanOrEqual(3 * MIB);
    expect(bytes).toBeLessThan(4 * MIB);
  });

  it('counts empty files, of which a file system has no room for many either', async () => {
    const folder = temporaryFolder();
    for (let count = 0; count < 500; count += 1) writeFileSync(join(folder, String(count)), '');
    expect(await folderBytes(folder)).toBeGreaterThanOrEqual(500 * 16_384);
  });

  it('has what nobody may list', async () => {
    const folder = folderWith(3 * MIB, 'a/b');
    chmodSync(join(folder, 'a/b'), 0o300);
    chmodSync(join(folder, 'a'), 0o000);
    const { result } = await asOwner('measure', folder);
    expect(result).toBeGreaterThanOrEqual(3 * MIB);
  });

  it('is nothing when the folder is gone', async () => {
    expect(await folderBytes(join(temporaryFolder(), 'gone'))).toBe(0);
  });
});

describe('a watch of a folder', () => {
  it('calls once when the folder has become too large', async () => {
    const folder = folderWith(MIB);
    const onExceeded = vi.fn<() => void>();
    using watch = watchDisk(folder, 2 * MIB, onExceeded, silentLogger, 10);
    writeFileSync(join(folder, 'another'), Buffer.alloc(2 * MIB, 1));
    await vi.waitFor(() => expect(onExceeded).toHaveBeenCalledOnce());
    expect(watch).toBeDefined();
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { driverFolders } from '../src/card-devices.ts';

const aMachine = (...withDriver: string[]) => {
  const root = mkdtempSync(join(tmpdir(), 'driver-libraries-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folders = withDriver.map((folder) => join(root, folder));
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'libcuda.so.1'), '');
  }
  const cache = join(root, 'ld.so.cache');
  const knows = (library: string): void =>
    writeFileSync(cache, `glibc-ld.so.cache1.1\0${library}\0/lib/${library}\0`);
  knows('libc.so.6');
  return { root, cache, folders, knows };
};

it.each(['usr/local/nvidia/lib64', 'usr/lib/wsl/lib', 'run/opengl-driver/lib'])(
  'a driver that the linker does not know is found in %s',
  (folder) => {
    const { root, cache, folders } = aMachine(folder);
    expect(driverFolders(undefined, { root, cache })).toEqual(folders);
  },
);

it('a driver that the linker knows is left to it', () => {
  const { root, cache, knows } = aMachine('usr/local/nvidia/lib64');
  knows('libcuda.so.1');
  expect(driverFolders('', { root, cache })).toEqual([]);
});

it('the folders that the executor was told of come first, if they have a driver', () => {
  const { root, cache, folders, knows } = aMachine('usr/local/cuda/compat', 'usr/local/nvidia/lib64');
  knows('libcuda.so.1');
  const [compat = ''] = folders;
  expect(driverFolders(`${root}/nothing::relative:${compat}`, { root, cache })).toEqual([compat]);
});

it('libraries for older drivers are for who asks for them alone: most cards refuse them', () => {
  const { root, cache } = aMachine('usr/local/cuda/compat');
  expect(driverFolders('', { root, cache })).toEqual([]);
});

import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writePrivateFile } from '../../src/data-folder/write-file.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

it('replaces a file as a whole, readable by this user only, and leaves no draft', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'secret');
  writeFileSync(path, 'old', { mode: 0o644 });
  await writePrivateFile(path, 'new');
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['secret']);
});

it('leaves the folder unchanged if it cannot write', async () => {
  const folder = temporaryFolder();
  await expect(writePrivateFile(join(folder, 'missing', 'secret'), 'new')).rejects.toThrow(/ENOENT/);
  expect(readdirSync(folder)).toEqual([]);
});

import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { expect, it } from 'vitest';
import { ownMark, readStat } from '../src/supervision/process-mark.ts';
import { openWorkFolder } from '../src/work-folder.ts';
import { temporaryFolder } from './runner/program/run-a-program.ts';

const silent = { info: () => undefined, warn: () => undefined };

it('a work folder belongs to one executor that lives', async () => {
  const folder = temporaryFolder();
  const { folder: name } = await ownMark(folder);
  const parent = await readStat(process.ppid);
  writeFileSync(join(folder, 'owner'), `${name}.${process.ppid}.${parent?.started ?? ''}`);
  await expect(openWorkFolder(folder, silent)).rejects.toThrow(
    `is in use by another executor (process ${process.ppid}). Give each executor a folder of its own`,
  );
});

it('a work folder is taken over from an executor that is gone, and cleared', async () => {
  const folder = temporaryFolder();
  const { folder: name } = await ownMark(folder);
  writeFileSync(join(folder, 'owner'), `${name}.${process.ppid}.1`);
  mkdirSync(join(folder, 'attempt-a', 'outputs'), { recursive: true });
  mkdirSync(join(folder, 'models'));
  await openWorkFolder(folder, silent);
  expect(existsSync(join(folder, 'attempt-a'))).toBe(false);
  expect(existsSync(join(folder, 'models'))).toBe(true);
});

it.skipIf(getuid?.() !== 0)('a work folder of another user is not trusted', async () => {
  const folder = temporaryFolder();
  chownSync(folder, 65_534, 65_534);
  await expect(openWorkFolder(folder, silent)).rejects.toThrow('belongs to user 65534');
});

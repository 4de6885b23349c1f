import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { expect, it } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { ownMark, readStat } from '../../src/supervision/stray-processes.ts';
import { openWorkFolder } from '../../src/folders/work-folder.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

it('refuses a work folder that another live executor uses', async () => {
  const folder = temporaryFolder();
  const { folder: name } = await ownMark(folder);
  const parent = await readStat(process.ppid);
  writeFileSync(join(folder, 'owner'), `${name}.${process.ppid}.${parent?.started ?? ''}`);
  await expect(openWorkFolder(folder, silentLogger)).rejects.toThrow(
    `is in use by another executor (process ${process.ppid}). Give each executor a folder of its own`,
  );
});

it('takes over and clears the work folder of an executor that ended', async () => {
  const folder = temporaryFolder();
  const { folder: name } = await ownMark(folder);
  writeFileSync(join(folder, 'owner'), `${name}.${process.ppid}.1`);
  mkdirSync(join(folder, 'attempt-a-outputs', 'frames'), { recursive: true });
  mkdirSync(join(folder, 'models'));
  await openWorkFolder(folder, silentLogger);
  expect(existsSync(join(folder, 'attempt-a-outputs'))).toBe(false);
  expect(existsSync(join(folder, 'models'))).toBe(true);
});

it.skipIf(getuid?.() !== 0)('refuses a work folder of another user', async () => {
  const folder = temporaryFolder();
  chownSync(folder, 65_534, 65_534);
  await expect(openWorkFolder(folder, silentLogger)).rejects.toThrow('belongs to user 65534');
});

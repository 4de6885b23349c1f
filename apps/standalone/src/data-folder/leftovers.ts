import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Type } from 'typebox';
import { readJsonFile } from './connection-files.ts';
import type { DataFolder } from './data-folder.ts';
import { identityOf, isRunning } from './process-identity.ts';
import { writePrivateFile } from './write-file.ts';

const FOLDER = 'processes';
const Identity = Type.Object({ pid: Type.Integer(), start_ticks: Type.Number(), boot_id: Type.String() });

/** Records a process that works on the data folder. */
export const recordProcess = async (folder: DataFolder, name: string, pid: number): Promise<void> => {
  const identity = await identityOf(pid);
  if (identity === undefined) return;
  await mkdir(folder.at(FOLDER), { recursive: true, mode: 0o700 });
  await writePrivateFile(join(folder.at(FOLDER), `${name}.json`), `${JSON.stringify(identity)}\n`);
};

/**
 * Kills processes that a killed standalone left behind. Services end by themselves, but keep the API's port until then,
 * and two brokers on one store would damage it. Only the holder of the folder may call this.
 */
export const endLeftoverProcesses = async (folder: DataFolder): Promise<void> => {
  const names = await readdir(folder.at(FOLDER)).catch(() => []);
  for (const name of names) {
    const recorded = await readJsonFile(join(folder.at(FOLDER), name), Identity);
    if (recorded.kind !== 'found') continue;
    while (await isRunning(recorded.content)) {
      process.kill(recorded.content.pid, 'SIGKILL');
      await pause(50);
    }
  }
  await rm(folder.at(FOLDER), { recursive: true, force: true });
};

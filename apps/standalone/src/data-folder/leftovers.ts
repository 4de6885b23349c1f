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

/** Notes a process that works on the data folder. */
export const noteProcess = async (folder: DataFolder, name: string, pid: number): Promise<void> => {
  const identity = await identityOf(pid);
  if (identity === undefined) return;
  await mkdir(folder.at(FOLDER), { recursive: true, mode: 0o700 });
  await writePrivateFile(join(folder.at(FOLDER), `${name}.json`), `${JSON.stringify(identity)}\n`);
};

/**
 * Ends what outlived a standalone that was killed: services end by themselves, but not at once, and hold the port of
 * the API until then; and two brokers on one store would ruin it. Only for the holder of the folder.
 */
export const endLeftovers = async (folder: DataFolder): Promise<void> => {
  const names = await readdir(folder.at(FOLDER)).catch(() => []);
  for (const name of names) {
    const noted = await readJsonFile(join(folder.at(FOLDER), name), Identity);
    if (noted.kind !== 'found') continue;
    while (await isRunning(noted.content)) {
      process.kill(noted.content.pid, 'SIGKILL');
      await pause(50);
    }
  }
  await rm(folder.at(FOLDER), { recursive: true, force: true });
};

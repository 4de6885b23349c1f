import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import {
  failed,
  openPreparedFolders,
  type HeldFolder,
  type NotPrepared,
  type PreparedFolders,
} from '../../src/code/prepared-folders.ts';
import { ORG_ID, OTHER_ORG_ID } from '../fixtures/isolations.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const never = new AbortController().signal;
const KIB = 1024;

const openIn = (workFolder: string, maxBytes = 1024 ** 3): PreparedFolders =>
  openPreparedFolders({ workFolder, maxBytes, log: silentLogger });

const fill = async (folder: string): Promise<null> => {
  await writeFile(join(folder, 'file'), Buffer.alloc(100 * KIB));
  return null;
};

const use = async (folders: PreparedFolders, key: string, make = fill): Promise<HeldFolder> => {
  const used = await folders.use({ org_id: ORG_ID, of: 'code', key }, make, never);
  if (used.kind !== 'prepared') throw new Error(JSON.stringify(used));
  return used;
};

const makesNothing = (): Promise<null> => Promise.reject(new Error('it is there'));

describe('prepared folders', () => {
  it('are made once for all who want one at the same time, and by another one when the first fails', async () => {
    const folders = openIn(temporaryFolder());
    const begun = Promise.withResolvers<NotPrepared | null>();
    let made = 0;
    const make = (): Promise<NotPrepared | null> => {
      made += 1;
      return made === 1 ? begun.promise : Promise.resolve(null);
    };
    const key = { org_id: ORG_ID, of: 'code', key: 'a' } as const;
    const all = [1, 2, 3].map(() => folders.use(key, make, never));
    await vi.waitUntil(() => made === 1);
    begun.resolve(failed('it cannot be made'));
    expect((await Promise.all(all)).map(({ kind }) => kind)).toEqual(['failed', 'prepared', 'prepared']);
    expect(made).toBe(2);
  });

  it('stop to wait when their run is stopped', async () => {
    const folders = openIn(temporaryFolder());
    const key = { org_id: ORG_ID, of: 'code', key: 'a' } as const;
    const held = Promise.withResolvers<null>();
    const first = folders.use(key, () => held.promise, never);
    const stop = new AbortController();
    const second = folders.use(key, fill, stop.signal);
    stop.abort();
    expect(await second).toEqual({ kind: 'stopped' });
    held.resolve(null);
    expect(await first).toMatchObject({ kind: 'prepared' });
  });

  it('are there after a restart, and what is half made is not', async () => {
    const workFolder = temporaryFolder();
    using made = await use(openIn(workFolder), 'whole');
    const above = join(made.path, '..');
    mkdirSync(join(above, 'half'));
    writeFileSync(join(above, 'half/file'), 'x');
    writeFileSync(join(above, 'other.123.half'), 'x');
    const folders = openIn(workFolder);
    using again = await use(folders, 'whole', makesNothing);
    expect(again.path).toBe(made.path);
    expect(readdirSync(above).toSorted()).toEqual(['whole', 'whole.json']);
  });

  it('are not there when their executor was killed while it made them', async () => {
    const workFolder = temporaryFolder();
    const script = join(import.meta.dirname, '../fixtures/half-made-folder.ts');
    const executor = spawn(process.execPath, [script, workFolder], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(executor.stdout, 'data');
    executor.kill('SIGKILL');
    await once(executor, 'exit');
    const above = join(workFolder, 'prepared/organisation/environments');
    expect(readdirSync(above)).toEqual(['half']);
    using other = await use(openIn(workFolder), 'other');
    expect(existsSync(other.path)).toBe(true);
    expect(readdirSync(above)).toEqual([]);
  });

  it('are of one organisation', async () => {
    const folders = openIn(temporaryFolder());
    using own = await use(folders, 'a');
    const other = await folders.use({ org_id: OTHER_ORG_ID, of: 'code', key: 'a' }, fill, never);
    expect(other).toMatchObject({ path: own.path.replace(ORG_ID, OTHER_ORG_ID) });
  });

  it('leave when there are too many, what was used longest ago first, and none that is in use', async () => {
    const workFolder = temporaryFolder();
    const folders = openIn(workFolder, 250 * KIB);
    using first = await use(folders, 'first');
    const second = await use(folders, 'second');
    second[Symbol.dispose]();
    const third = await use(folders, 'third');
    expect([first, second, third].map(({ path }) => existsSync(path))).toEqual([true, false, true]);
    using kept = folders.hold([first.path]);
    first[Symbol.dispose]();
    using fourth = await use(folders, 'fourth');
    expect(existsSync(fourth.path)).toBe(true);
    expect(existsSync(first.path)).toBe(true);
    expect(existsSync(third.path)).toBe(true);
    third[Symbol.dispose]();
    expect(existsSync(third.path)).toBe(false);
    kept[Symbol.dispose]();
    expect(existsSync(first.path)).toBe(true);
  });

  it('say when the disk is full, and leave nothing', async () => {
    const folders = openIn(temporaryFolder());
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    const key = { org_id: ORG_ID, of: 'code', key: 'a' } as const;
    const used = await folders.use(key, () => Promise.reject(full), never);
    expect(used).toMatchObject({ kind: 'failed', error: { kind: 'prepare_failed', retryable: true } });
    expect(readdirSync(join(folders.path, ORG_ID, 'code'))).toEqual([]);
  });
});

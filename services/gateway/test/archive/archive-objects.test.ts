import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun } from '@runledger/testing/run-events';
import { testBucket } from '@runledger/testing/servers/s3';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { describe, expect, it } from 'vitest';
import { ArchiveUnavailable, type ArchiveObjects } from '../../src/archive/archive-objects.ts';
import { aLog } from '../fixtures/gateway/a-log.ts';
import { archivedIn, objectsOf } from './archived-runs.ts';

const openObjects = async (open: AsyncDisposableStack, kind: string) => {
  const { log } = open.use(await aLog());
  const { path } = open.use(await folderInMemory('objects'));
  const bucket = kind === 's3' ? (await testBucket()).env : {};
  const where = { RUNLEDGER_ARCHIVE: kind, RUNLEDGER_ARCHIVE_DIRECTORY: path };
  return { log, path, objects: objectsOf(log, { ...bucket, ...where }) };
};

const idsIn = async (objects: ArchiveObjects, org_id?: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const page of objects.list(org_id)) found.push(...page.map(({ run_id }) => run_id));
  return found.toSorted();
};

const idsOf = (...runs: readonly RunKey[]): string[] => runs.map(({ run_id }) => run_id).toSorted();

describe.each(['jetstream', 'directory', 's3'])('archived runs in %s', (kind) => {
  it('are replaced as a whole, read, listed and removed by their names', { timeout: 60_000 }, async () => {
    await using open = new AsyncDisposableStack();
    const { log, objects } = await openObjects(open, kind);
    const [one, other] = [aRun(), aRun()];
    const third = aRun(one.org_id);
    expect(await objects.get(one)).toBeUndefined();
    expect(await idsIn(objects)).toEqual([]);
    await objects.remove(one);
    const large = Buffer.alloc(300_000, 'x');
    await objects.put(one, Buffer.from('first'));
    await objects.put(one, large);
    await objects.put(other, Buffer.from('other'));
    await objects.put(third, Buffer.from('third'));
    expect((await objects.get(one))?.equals(large)).toBe(true);
    // Also by who reads it while it is replaced.
    const reading = Array.from({ length: 20 }, () => objects.get(one));
    for (let n = 0; n < 3; n += 1) await objects.put(one, large);
    for (const bytes of await Promise.all(reading)) expect(bytes?.equals(large)).toBe(true);
    expect(await archivedIn(log, objects)).toHaveLength(3);
    expect(await idsIn(objects, one.org_id)).toEqual(idsOf(one, third));
    expect(await idsIn(objects)).toEqual(idsOf(one, other, third));
    await objects.remove(one);
    await objects.remove(one);
    expect(await objects.get(one)).toBeUndefined();
    expect(await idsIn(objects, one.org_id)).toEqual(idsOf(third));
  });
});

describe('a directory', () => {
  it('says that it is away when its mount is missing, instead of having no run', async () => {
    await using open = new AsyncDisposableStack();
    const { log, path } = await openObjects(open, 'directory');
    const missing = { RUNLEDGER_ARCHIVE: 'directory', RUNLEDGER_ARCHIVE_DIRECTORY: join(path, 'missing') };
    const objects = objectsOf(log, missing);
    const run = aRun();
    await expect(objects.get(run)).rejects.toThrow(ArchiveUnavailable);
    await expect(objects.put(run, Buffer.from('x'))).rejects.toThrow(ArchiveUnavailable);
    await expect(objects.remove(run)).rejects.toThrow(ArchiveUnavailable);
    await expect(idsIn(objects)).rejects.toThrow(ArchiveUnavailable);
    expect(await readdir(path)).toEqual([]);
  });
});

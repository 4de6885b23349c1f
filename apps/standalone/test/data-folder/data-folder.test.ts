import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NOON, held, open, opened, readLock, refusal } from '../fixtures/opened-folder.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('a data folder', () => {
  it('is created with its format, only for its owner', async () => {
    const path = join(temporaryFolder(), 'deep', '.runledger');
    await using folder = await opened(path);
    expect(mode(path)).toBe('700');
    expect(mode(folder.at('lock'))).toBe('600');
    expect(readFileSync(folder.at('format'), 'utf8')).toBe('1\n');
  });

  it('is closed to other users if it was open', async () => {
    const path = temporaryFolder();
    chmodSync(path, 0o755);
    await held(path);
    expect(mode(path)).toBe('700');
  });

  it('opens again after it was closed, without a lock file', async () => {
    const path = temporaryFolder();
    await (await opened(path))[Symbol.asyncDispose]();
    expect(readdirSync(path)).toEqual(['format']);
    await held(path);
    expect(readdirSync(path).toSorted()).toEqual(['format', 'lock']);
  });

  it('is refused if its format is newer', async () => {
    const path = temporaryFolder();
    writeFileSync(join(path, 'format'), '2\n');
    expect(await refusal(path)).toBe(
      `The data folder ${path} has format 2, and this release of Runledger knows format 1: a newer release wrote it. ` +
        'Start that release, or choose another folder with RUNLEDGER_DATA_DIR.',
    );
    expect(readdirSync(path)).toEqual(['format']);
  });

  it('is refused if its format is not a number', async () => {
    const path = temporaryFolder();
    writeFileSync(join(path, 'format'), 'photos\n');
    expect(await refusal(path)).toMatch(/is invalid: its file "format" holds no number/);
  });

  it('is refused if it is a file', async () => {
    const path = join(temporaryFolder(), 'file');
    writeFileSync(path, '');
    expect(await refusal(path)).toMatch(/^The data folder .*file cannot be used: .*RUNLEDGER_DATA_DIR\.$/);
  });
});

describe('the lock of a data folder', () => {
  it('shows a second start its holder, since when it is held, and the URL', async () => {
    const path = temporaryFolder();
    await using folder = await opened(path);
    expect(await refusal(path)).toBe(
      `The data folder ${path} is in use: process ${process.pid} has held it since ${NOON}. ` +
        `Use that one, stop it first (kill ${process.pid}), or choose another folder with RUNLEDGER_DATA_DIR.`,
    );
    await folder.publishUrl('http://127.0.0.1:8080/api');
    expect(await refusal(path)).toContain(`since ${NOON} and serves http://127.0.0.1:8080/api. Use that one`);
  });

  it('is taken over if another process got the number of its holder', async () => {
    const path = temporaryFolder();
    await using first = await opened(path);
    const lock = readLock(path);
    writeFileSync(
      first.at('lock'),
      JSON.stringify({ ...lock, start_ticks: Number(lock['start_ticks']) - 1 }),
    );
    await held(path);
    expect(readLock(path)).toEqual(lock);
  });

  it('is taken over after a restart of the machine', async () => {
    const path = temporaryFolder();
    await using first = await opened(path);
    const lock = readLock(path);
    writeFileSync(first.at('lock'), JSON.stringify({ ...lock, boot_id: 'another' }));
    await held(path);
    expect(readLock(path)).toEqual(lock);
  });

  it.each(['', '{"pid":', '{"pid": "many"}', 'null'])(
    'is taken over if its file contains %j',
    async (text) => {
      const path = temporaryFolder();
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'lock'), text);
      await held(path);
      expect(readLock(path)).toMatchObject({ pid: process.pid });
    },
  );

  it('has one holder after many starts took over a stale lock', async () => {
    const path = temporaryFolder();
    writeFileSync(join(path, 'lock'), 'stale');
    const results = await Promise.all(Array.from({ length: 8 }, () => open(path)));
    const winners = results.filter(({ ok }) => ok);
    expect(winners).toHaveLength(1);
    for (const result of results) if (result.ok) await result.folder[Symbol.asyncDispose]();
    expect(readdirSync(path)).toEqual(['format']);
  });
});

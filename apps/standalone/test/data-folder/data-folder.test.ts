import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HOLDER, NOON, held, open, opened, readHolder, refusal } from '../fixtures/opened-folder.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('a data folder', () => {
  it('is created with its format, only for its owner', async () => {
    const path = join(temporaryFolder(), 'deep', '.runledger');
    await using folder = await opened(path);
    expect(mode(path)).toBe('700');
    for (const name of ['lock.db', HOLDER]) expect(mode(folder.at(name))).toBe('600');
    expect(readFileSync(folder.at('format'), 'utf8')).toBe('1\n');
  });

  it('is closed to other users if it was open', async () => {
    const path = temporaryFolder();
    chmodSync(path, 0o755);
    await held(path);
    expect(mode(path)).toBe('700');
  });

  it('opens again after it was closed, which leaves no holder', async () => {
    const path = temporaryFolder();
    await (await opened(path))[Symbol.asyncDispose]();
    expect(readdirSync(path).toSorted()).toEqual(['format', 'lock.db']);
    await held(path);
    expect(readdirSync(path).toSorted()).toEqual(['format', HOLDER, 'lock.db']);
  });

  it('is refused if its format is newer', async () => {
    const path = temporaryFolder();
    writeFileSync(join(path, 'format'), '2\n');
    expect(await refusal(path)).toBe(
      `The data folder ${path} has format 2, and this release of Runledger knows format 1: a newer release wrote it. ` +
        'Start that release, or choose another folder with RUNLEDGER_DATA_DIR.',
    );
    expect(readdirSync(path).toSorted()).toEqual(['format', 'lock.db']);
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

  it.each(['', '{"pid":', '{"pid": "many"}', 'null'])(
    'does not say whose it is if that file contains %j',
    async (text) => {
      const path = temporaryFolder();
      await using folder = await opened(path);
      writeFileSync(folder.at(HOLDER), text);
      expect(await refusal(path)).toMatch(
        /is in use: another process has just taken it\. .*RUNLEDGER_DATA_DIR\.$/,
      );
    },
  );

  it('names no process that only has the number of an earlier holder', async () => {
    const path = temporaryFolder();
    await using folder = await opened(path);
    const holder = readHolder(path);
    for (const other of [{ start_ticks: Number(holder['start_ticks']) - 1 }, { boot_id: 'another' }]) {
      writeFileSync(folder.at(HOLDER), JSON.stringify({ ...holder, ...other }));
      expect(await refusal(path)).toContain('another process has just taken it');
    }
  });

  it('has one holder of many starts, again and again', async () => {
    const path = temporaryFolder();
    for (let round = 0; round < 20; round += 1) {
      const results = await Promise.all(Array.from({ length: 8 }, () => open(path)));
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      for (const result of results) if (result.ok) await result.folder[Symbol.asyncDispose]();
    }
    expect(readdirSync(path).toSorted()).toEqual(['format', 'lock.db']);
  });
});

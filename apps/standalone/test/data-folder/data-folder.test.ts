import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDataFolder } from '../../src/data-folder/data-folder.ts';
import type { DataFolder } from '../../src/data-folder/data-folder.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const NOON = '2026-05-01T12:00:00.000Z';
const open = (path: string): ReturnType<typeof openDataFolder> => openDataFolder(path, () => new Date(NOON));

const opened = async (path: string): Promise<DataFolder> => {
  const result = await open(path);
  if (!result.ok) throw new Error(result.why);
  return result.folder;
};

/** Opens the folder until the end of the test. */
const held = async (path: string): Promise<void> => {
  const folder = await opened(path);
  onTestFinished(() => folder[Symbol.asyncDispose]());
};

const whyNot = async (path: string): Promise<string> => {
  const result = await open(path);
  if (!result.ok) return result.why;
  await result.folder[Symbol.asyncDispose]();
  return 'it was opened';
};

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const readLock = (folder: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(folder, 'lock'), 'utf8'));

const holdElsewhere = async (
  folder: string,
): Promise<{ pid: number | undefined; kill9: () => Promise<void> }> => {
  const program = fileURLToPath(new URL('../fixtures/hold-folder.ts', import.meta.url));
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = await once(child.stdout, 'data');
  expect(String(said)).toBe('holding\n');
  return {
    pid: child.pid,
    kill9: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
};

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

  it('of a newer format is refused', async () => {
    const path = temporaryFolder();
    writeFileSync(join(path, 'format'), '2\n');
    expect(await whyNot(path)).toBe(
      `The data folder ${path} has format 2, and this release of Runledger knows format 1: a newer release wrote it. ` +
        'Start that release, or choose another folder with RUNLEDGER_DATA_DIR.',
    );
    expect(readdirSync(path)).toEqual(['format']);
  });

  it('with a format that is not a number is refused', async () => {
    const path = temporaryFolder();
    writeFileSync(join(path, 'format'), 'photos\n');
    expect(await whyNot(path)).toMatch(/is invalid: its file "format" holds no number/);
  });

  it('that is a file is refused', async () => {
    const path = join(temporaryFolder(), 'file');
    writeFileSync(path, '');
    expect(await whyNot(path)).toMatch(/^The data folder .*file cannot be used: .*RUNLEDGER_DATA_DIR\.$/);
  });
});

describe('the lock of a data folder', () => {
  it('shows a second start who holds it, since when and where', async () => {
    const path = temporaryFolder();
    await using folder = await opened(path);
    expect(await whyNot(path)).toBe(
      `The data folder ${path} is in use: process ${process.pid} has held it since ${NOON}. ` +
        `Use that one, stop it first (kill ${process.pid}), or choose another folder with RUNLEDGER_DATA_DIR.`,
    );
    await folder.publishUrl('http://127.0.0.1:8080/api');
    expect(await whyNot(path)).toContain(`since ${NOON} and serves http://127.0.0.1:8080/api. Use that one`);
  });

  it('holds between processes, and is taken over from a killed one', async () => {
    const path = temporaryFolder();
    const other = await holdElsewhere(path);
    expect(await whyNot(path)).toContain(`process ${other.pid} has held it since`);
    await other.kill9();
    await held(path);
    expect(readLock(path)).toMatchObject({ pid: process.pid, since: NOON });
  });

  it('of a process whose number was reused is taken over', async () => {
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

  it('from before a restart of the machine is taken over', async () => {
    const path = temporaryFolder();
    await using first = await opened(path);
    const lock = readLock(path);
    writeFileSync(first.at('lock'), JSON.stringify({ ...lock, boot_id: 'another' }));
    await held(path);
    expect(readLock(path)).toEqual(lock);
  });

  it.each(['', '{"pid":', '{"pid": "many"}', 'null'])('that holds %j is taken over', async (text) => {
    const path = temporaryFolder();
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'lock'), text);
    await held(path);
    expect(readLock(path)).toMatchObject({ pid: process.pid });
  });

  it('has one winner when many starts take over a stale one', async () => {
    const path = temporaryFolder();
    writeFileSync(join(path, 'lock'), 'stale');
    const results = await Promise.all(Array.from({ length: 8 }, () => open(path)));
    const winners = results.filter(({ ok }) => ok);
    expect(winners).toHaveLength(1);
    for (const result of results) if (result.ok) await result.folder[Symbol.asyncDispose]();
    expect(readdirSync(path)).toEqual(['format']);
  });
});

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { append } from '@runledger/event-log/append/append';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { provision } from '@runledger/event-log/provision/provision';
import { readSliceFile } from '@runledger/event-log/slices/read-slice-file';
import { aRun, assigned, queued } from '@runledger/testing/events/run-events';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { screenOf } from '../../src/output/screen.ts';
import { runProgram } from '../../src/program.ts';
import { cliWith, type Cli } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let cli: Cli;
beforeAll(async () => {
  const account = opened.use(await testAccount());
  cli = cliWith(account.env);
  log = opened.use(await openEventLog({ ...account.login, name: 'test' }, silentLogger));
  await provision(log);
});
afterAll(() => opened.disposeAsync());

const DAY = ['capture', '--from', '2026-01-01T00:00:00Z', '--to', '2100-01-01T00:00+02:00'];

const linesOf = async (file: string): Promise<unknown[]> => {
  const lines: unknown[] = [];
  for await (const line of readSliceFile(file)) lines.push(line);
  return lines;
};

describe('runledger capture', () => {
  it('writes the facts of a time to a file that only its owner reads', async () => {
    const run = aRun();
    await append(log, queued(run, { inputs: { prompt: 'a cat' }, concurrency_key: 'mail@example.com' }), 0);
    await append(log, assigned(run), 1);
    const cwd = temporaryFolder();
    const { code, stdout, stderr } = await cli([...DAY, '--output', 'day.ndjson.zst'], { cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(
      /^Captured 2 facts of runs and 0 facts of executors from 2026-01-01T00:00:00.000Z to /,
    );
    expect(await readdir(cwd)).toEqual(['day.ndjson.zst']);
    const file = join(cwd, 'day.ndjson.zst');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const lines = await linesOf(file);
    expect(lines).toMatchObject([
      { kind: 'header', from: '2026-01-01T00:00:00.000Z', lead_in_from: '2025-12-31T23:00:00.000Z' },
      { sequence: 1, event: { type: 'RunQueued', run_id: run.run_id, data: { inputs: {} } } },
      { sequence: 2, event: { type: 'RunAssigned' } },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/a cat|mail@/);
  });

  it('says when the log holds nothing of that time', async () => {
    const { stderr } = await cli([...DAY, '--from', '2099-01-01T00:00:00Z']);
    expect(stderr).toContain('The log holds no fact of a run of that time.');
  });

  it.each([
    [['--from', '2026-01-01'], '--from 2026-01-01 is not a time with its zone, such as 2026-05-01T12:00:00Z'],
    [
      ['--to', '2025-01-01T00:00:00Z'],
      '--from 2026-01-01T00:00:00Z must be before --to 2025-01-01T00:00:00Z.',
    ],
    [['--rate', '0'], '--rate 0 is not a whole number from 1 to 1000000.'],
    [['--lead-in', 'x'], '--lead-in x is not a time.'],
    [['--organisation', 'acme'], '--organisation acme is not the id of an organisation'],
    [['--output', '/nowhere/day'], '/nowhere/day cannot be written: ENOENT'],
  ])('refuses %j with a sentence', async (options, sentence) => {
    expect(await cli([...DAY, ...options])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });

  it('does not write compressed bytes to a terminal', async () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
    const screen = screenOf({ out: stream, err: stream, in: process.stdin });
    const interruption = new AbortController();
    const code = await runProgram(DAY, {
      env: {},
      cwd: '/',
      stdin: Readable.from([]),
      stdout: stream,
      screen,
      untilInterrupted: () => interruption.signal,
    });
    expect({ code, text: String(stream.read()) }).toMatchObject({
      code: 2,
      text: expect.stringContaining('Name a file with --output'),
    });
  });
});

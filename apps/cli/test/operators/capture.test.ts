import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { newUuid } from '@runledger/contracts/ids';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { append } from '@runledger/event-log/append/append';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { screenOf } from '../../src/command/screen.ts';
import { runProgram } from '../../src/program.ts';
import { cliWith, startCli, type Cli } from '../fixtures/run-cli.ts';
import { linesOfSlice } from '../fixtures/lines-of-slice.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let cli: Cli;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  const account = opened.use(await testAccount());
  ({ env } = account);
  cli = cliWith(env);
  log = opened.use(await openEventLog({ ...account.login, name: 'test' }, silentLogger));
  await provision(log);
});
afterAll(() => opened.disposeAsync());

const RUN = '01920000-0000-7000-8000-000000000001';
const DAY = ['capture', '--from', '2026-01-01T00:00:00Z', '--to', '2100-01-01T00:00+02:00'];

describe('runledger capture', () => {
  it('writes the facts of a time to a file that only its owner reads', async () => {
    const run = aRun();
    await append(log, queued(run, { inputs: { prompt: 'a cat' }, concurrency_key: 'mail@example.com' }), 0);
    await append(log, assigned(run), 1);
    const cwd = temporaryFolder();
    const { code, stdout, stderr } = await cli([...DAY, '--output', 'day.ndjson.zst'], { cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(
      /^Captured 2 facts of runs, 0 facts of executors and 0 outcomes of deliveries from 2026-01-01T00:00:00.000Z to /,
    );
    expect(await readdir(cwd)).toEqual(['day.ndjson.zst']);
    const file = join(cwd, 'day.ndjson.zst');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const lines = await linesOfSlice(file);
    expect(lines).toMatchObject([
      { kind: 'header', from: '2026-01-01T00:00:00.000Z', warm_up_from: '2025-12-31T23:00:00.000Z' },
      { sequence: 1, event: { type: 'RunQueued', run_id: run.run_id, data: { inputs: {} } } },
      { sequence: 2, event: { type: 'RunAssigned' } },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/a cat|mail@/);
  });

  it('says when the log holds nothing of that time, or of that deployment', async () => {
    const { stderr } = await cli([...DAY, '--from', '2099-01-01T00:00:00Z']);
    expect(stderr).toContain('The log holds no fact of a run of that time.');
    const other = await cli([...DAY, '--deployment', newUuid()]);
    expect(other.stderr).toContain('The log holds no fact of such a run of that time.');
  });

  describe('of more messages than are read at once', () => {
    beforeAll(async () => {
      await Promise.all(Array.from({ length: 600 }, () => append(log, queued(aRun()), 0)));
    });

    it('keeps the rate that it is told', async () => {
      const begun = performance.now();
      expect((await cli([...DAY, '--rate', '512'])).code).toBe(0);
      expect(performance.now() - begun).toBeGreaterThan(1_000);
    });

    it('leaves no file when it is interrupted', async () => {
      const cwd = temporaryFolder();
      const started = startCli([...DAY, '--rate', '1', '--output', 'day.ndjson.zst'], { cwd, env });
      await waitFor('the file', async () => (await readdir(cwd)).length > 0);
      started.interrupt();
      const stderr = 'Interrupted. The slice is not whole.\n';
      expect(await started.ended).toMatchObject({ code: 130, stderr });
      expect(await readdir(cwd)).toEqual([]);
    });
  });

  it('refuses more runs than it reads one by one', async () => {
    const runs = Array.from({ length: 101 }, () => newUuid());
    const { stderr } = await cli(['capture', '--run', ...runs]);
    expect(stderr).toBe('--run names 101 ids, and 100 are the most. Capture them in parts.\n');
  });

  it('refuses a run that the log does not have', async () => {
    expect(await cli(['capture', '--run', newUuid()])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^The log has no run \S+\. Check the id\./),
    });
  });

  it.each([
    [['--from', '2026-01-01'], '--from 2026-01-01 is not a time with its zone, such as 2026-05-01T12:00:00Z'],
    [
      ['--to', '2025-01-01T00:00:00Z'],
      '--from 2026-01-01T00:00:00Z must be before --to 2025-01-01T00:00:00Z.',
    ],
    [['--rate', '0'], '--rate 0 is not a whole number from 1 to 1000000.'],
    [['--warm-up', 'x'], '--warm-up x is not a time.'],
    [
      ['--organisation', 'acme'],
      '--organisation acme is not an id, which is a UUID: runledger organisations list',
    ],
    [
      ['--deployment', 'mandelbrot'],
      '--deployment mandelbrot is not an id, which is a UUID: runledger deployments',
    ],
    [['--output', '/nowhere/day'], '/nowhere/day cannot be written: ENOENT'],
  ])('refuses %j with a sentence', async (options, sentence) => {
    expect(await cli([...DAY, ...options])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });

  it.each([
    [['capture']],
    [['capture', '--from', '2026-01-01T00:00:00Z']],
    [['capture', '--run', RUN, '--to', '2026-01-01T00:00:00Z']],
  ])('refuses %j, which is no time', async (args) => {
    expect(await cli(args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^A slice has a time: --from and --to\. Only with --run both may be left out/,
      ),
    });
  });

  it('does not write compressed bytes to a terminal', async () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
    const screen = screenOf({ out: stream, err: stream, in: process.stdin, env: {} });
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

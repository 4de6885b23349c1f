import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { InvalidSlice } from '@runledger/contracts/slices/read-slice';
import { aRun, queued } from '@runledger/testing/run-events';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCliProcess } from '../fixtures/cli-process.ts';
import { linesOfSlice } from '../fixtures/lines-of-slice.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  const account = opened.use(await testAccount());
  ({ env } = account);
  log = opened.use(await openEventLog({ ...account.login, name: 'test' }, silentLogger));
  await provision(log);
  for (let n = 0; n < 6; n += 1)
    await Promise.all(Array.from({ length: 200 }, () => append(log, queued(aRun()), 0)));
});
afterAll(() => opened.disposeAsync());

describe('the process of a capture', () => {
  const started = (rate: number, folder = temporaryFolder()) => {
    const file = join(folder, 'slice.ndjson.zst');
    const span = ['--from', '2026-01-01T00:00:00Z', '--to', '2100-01-01T00:00:00Z'];
    const cli = startCliProcess(['capture', ...span, '--rate', String(rate), '--output', file], { env });
    return { cli, folder, file, filesThere: () => readdir(folder) };
  };

  it('leaves nothing under the name of the slice when it is killed, no reader takes the rest for whole, and the next one writes over it', async () => {
    const { cli, folder, file, filesThere } = started(100);
    await waitFor('the begun file', async () => (await filesThere()).length > 0);
    cli.kill9();
    await cli.exitCode;
    expect(await filesThere()).toEqual(['slice.ndjson.zst.partial']);
    await expect(linesOfSlice(`${file}.partial`)).rejects.toThrow(InvalidSlice);
    await expect(linesOfSlice(`${file}.partial`)).rejects.toThrow('is not whole');
    const again = started(1_000_000, folder);
    expect(await again.cli.exitCode).toBe(0);
    expect(await filesThere()).toEqual(['slice.ndjson.zst']);
    expect(await linesOfSlice(file)).toHaveLength(1_201);
  });

  it('ends with 130 after Ctrl-C, and leaves nothing', async () => {
    const { cli, filesThere } = started(100);
    await waitFor('the begun file', async () => (await filesThere()).length > 0);
    cli.interrupt();
    expect(await cli.exitCode).toBe(130);
    expect(cli.stderr()).toBe('Interrupted. The slice is not whole.\n');
    expect(await filesThere()).toEqual([]);
  });
});

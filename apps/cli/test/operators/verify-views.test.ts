import type { ViewDigest } from '@runledger/contracts/requests/operator-requests';
import { append } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { head as headOf, readRun } from '@runledger/event-log/read/read-run';
import { respondToViewDigests, viewDigest } from '@runledger/request-reply/view-digests';
import { aRun, assigned, expired, queued } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { besideALog } from '../fixtures/beside-a-log.ts';
import type { Cli } from '../fixtures/run-cli.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let cli: Cli;
beforeAll(async () => {
  ({ log, cli } = await besideALog(opened));
});
afterAll(() => opened.disposeAsync());

const key = aRun();
/** What a gateway says of the run. */
const viewNow = async (changes: Partial<ViewDigest> = {}): Promise<ViewDigest> => {
  const read = await readRun(log, key);
  if (read.kind !== 'found') throw new Error('the log does not have the run');
  return {
    run_id: key.run_id,
    head: read.history.head,
    webhook_head: 0,
    sha256: viewDigest(read.run, read.webhook?.state),
    ...changes,
  };
};
/** Until the end of the test. */
const answering = (views: Parameters<typeof respondToViewDigests>[1]): void => {
  const responding = respondToViewDigests(log, views);
  onTestFinished(() => responding[Symbol.dispose]());
};
const verify = () => cli(['verify', '--no-blobs']);

describe('the views of a gateway', () => {
  beforeAll(async () => {
    await append(log, queued(key), 0);
  });

  it('are compared with the facts up to the same position', async () => {
    answering(async () => ({ views: [await viewNow()] }));
    expect(await verify()).toMatchObject({ code: 0, stdout: '' });
  });

  it('are told when they say something else', async () => {
    answering(async () => ({ views: [await viewNow({ sha256: 'x' })] }));
    expect(await verify()).toMatchObject({
      code: 1,
      stdout: `Run ${key.run_id}: its view says something else than its facts up to 1.\n`,
    });
  });

  it('may be a moment behind, and a run may go on while it is verified', async () => {
    let requests = 0;
    answering(async () => {
      requests += 1;
      if (requests === 1) return { views: [await viewNow({ head: 0 })] };
      if (requests === 2) await append(log, assigned(key), 1);
      return { views: [await viewNow()] };
    });
    expect(await verify()).toMatchObject({ code: 0, stdout: '' });
    expect(requests).toBe(3);
  });

  it('are told when they never have what the log has', async () => {
    answering(async () => ({ views: [] }));
    expect(await verify()).toMatchObject({ code: 1, stdout: `Run ${key.run_id}: it has no view.\n` });
  });

  it('cannot be compared when no gateway responds, and need not be', async () => {
    expect(await verify()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No gateway compares its views'),
    });
    expect(await cli(['verify', '--no-blobs', '--no-views', '--json'])).toMatchObject({
      code: 0,
      stdout: '',
    });
  });
});

describe('a fact of a later release', () => {
  it('is told, and makes the run one that cannot be compared', async () => {
    const run = aRun();
    await append(log, queued(run), 0);
    const { state } = await log.jsm.streams.info('RUNS');
    await append(log, { ...assigned(run), version: 9 }, state.last_seq);
    answering(async () => ({ views: [await viewNow()] }));
    const { code, stdout } = await cli(['verify', '--no-blobs', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      {
        ...run,
        problem: expect.stringContaining('RunAssigned in version 9, was written by a later release'),
      },
    ]);
  });
});

describe('an expiry behind the end of a run', () => {
  it('is told when the log has nothing else of the run, and its view has the end', async () => {
    const run = aRun();
    await append(log, expired(run), 0);
    answering(async ({ runs }) => ({
      views: await Promise.all(
        runs.map(async ({ run_id }) =>
          run_id === run.run_id
            ? { run_id, head: await headOf(log, run), webhook_head: 0, sha256: 'of its success' }
            : viewNow(),
        ),
      ),
    }));
    const { code, stdout } = await cli(['verify', '--no-blobs', '--run', run.run_id]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^Run \S+: it expired by the fact at \d+, and its view has another end: if "runledger history"/,
    );
  });
});

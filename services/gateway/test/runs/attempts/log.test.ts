import { gzipSync } from 'node:zlib';
import { signAttempt } from '@runledger/contracts/attempt-token';
import type { LogChunk } from '@runledger/contracts/run-logs';
import { clearLogSlot, readLog } from '@runledger/event-log/streams/logs';
import { assigned, OTHER_EXECUTOR, requeued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { call } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { overEachViews } from '../../fixtures/views/over-each-views.ts';
import { aChunk, attemptOf, itemsIn, linesIn, store } from '../logs/some-logs.ts';
import { anAttemptOf, type Attempt } from './an-upload.ts';

const bodyOf = (...chunks: readonly LogChunk[]): Uint8Array<ArrayBuffer> => {
  const last = chunks.at(-1);
  const lines = last ? last.first + last.lines.length : 0;
  return new Uint8Array(gzipSync(JSON.stringify({ chunks, lines, bytes: lines * 10 })));
};

overEachViews('the log of an attempt', (here) => {
  const anAttempt = async (): Promise<Attempt> =>
    anAttemptOf(here.bed, await queueSample(here.gateway, here.tenant));
  /** What runs refer to. */
  const blobBytes = async (): Promise<number> =>
    (await call(`${here.gateway.api}/usage`, here.tenant.key)).body.blob_bytes.used;
  const put = (
    { run, token }: Attempt,
    body: Uint8Array<ArrayBuffer>,
    attempt = 1,
    as: string | null = token,
  ) =>
    call(`${here.gateway.url}/executions/${run.org_id}/${run.run_id}/${attempt}/log`, as, {
      method: 'PUT',
      body,
      headers: { 'content-type': 'application/gzip' },
    });
  const logsOf = async ({ run }: Attempt, query = ''): Promise<string> => {
    const headers = { authorization: `Bearer ${here.tenant.key}` };
    return (await fetch(here.gateway.logsOf(run, query), { headers })).text();
  };
  /** Its end, with what is kept. */
  const end = async ({ run }: Attempt, log_blob: unknown, attempt = 1): Promise<void> => {
    const fact = succeeded(run);
    const of2 = attempt === 2 ? { attempt, executor_id: OTHER_EXECUTOR } : {};
    await appendAll(here.bed.log, { ...fact, ...of2, data: { ...fact.data, log_blob } } as typeof fact);
  };

  it('is kept with the run, and shown when the brokers no longer have it', async () => {
    const attempt = await anAttempt();
    const of = attemptOf(attempt.run);
    await store(here.bed.log, of, aChunk(0, 2));
    const { status, body } = await put(attempt, bodyOf(aChunk(0, 2), aChunk(5, 1)));
    expect([status, body]).toEqual([201, { sha256: expect.any(String), bytes: expect.any(Number) }]);
    await end(attempt, body);
    clearLogSlot(here.bed.log, of, 0);
    await waitFor('the empty slot', async () => (await readLog(here.bed.log, of)).isCleared);
    expect(linesIn(await logsOf(attempt))).toEqual(['line 0', 'line 1', { lines: 3, bytes: 30 }, 'line 5']);
    expect(linesIn(await logsOf(attempt, '?tail=1'))).toEqual(['line 5']);
  });

  it('is kept with those of the attempts before it, also of one that was lost', async () => {
    const attempt = await anAttempt();
    await store(here.bed.log, attemptOf(attempt.run), aChunk(0, 2, 'lost'));
    const { run, keys } = attempt;
    const second = assigned(run, { attempt: 2, executor: OTHER_EXECUTOR, publicKey: keys.publicKey });
    const begun = { ...started(run), attempt: 2, executor_id: OTHER_EXECUTOR };
    await appendAll(here.bed.log, requeued(run), second, begun);
    const token = await signAttempt(keys, run, 2);
    const { body } = await put({ ...attempt, token }, bodyOf(aChunk(0, 1, 'second')), 2);
    await end(attempt, body, 2);
    clearLogSlot(here.bed.log, attemptOf(run), 0);
    await waitFor('the empty slot', async () => (await readLog(here.bed.log, attemptOf(run))).isCleared);
    expect(linesIn(await logsOf(attempt))).toEqual(['lost 0', 'lost 1', 'second 0']);
  });

  it('that is not kept is shown as long as the brokers have it, and the response says so', async () => {
    const attempt = await anAttempt();
    await store(here.bed.log, attemptOf(attempt.run), aChunk(0, 1));
    expect(itemsIn(await logsOf(attempt))).toHaveLength(1);
    await appendAll(here.bed.log, succeeded(attempt.run));
    expect(itemsIn(await logsOf(attempt))).toEqual([
      { attempt: 1, notice: expect.stringContaining('is not kept with the run') },
      expect.objectContaining({ line: 'line 0' }),
    ]);
  });

  it('is erased with its run', async () => {
    const attempt = await anAttempt();
    const { run } = attempt;
    await store(here.bed.log, attemptOf(run), aChunk(0, 1));
    const { body } = await put(attempt, bodyOf(aChunk(0, 1)));
    await end(attempt, body);
    await waitFor('the reference', async () => (await blobBytes()) === body.bytes);
    const path = `${here.gateway.api}/run/${run.run_id}`;
    expect((await call(path, here.tenant.key, { method: 'DELETE' })).status).toBe(200);
    expect((await call(here.gateway.logsOf(run), here.tenant.key)).status).toBe(404);
    await waitFor('the brokers to have nothing', async () => {
      const { chunks } = await readLog(here.bed.log, attemptOf(run));
      return chunks.length === 0;
    });
    // The sweep erases what nothing refers to.
    await waitFor('no reference', async () => (await blobBytes()) === 0);
  });

  it('is refused without its token, when the attempt is over, and when it is none', async () => {
    const attempt = await anAttempt();
    expect((await put(attempt, bodyOf(), 1, here.tenant.key)).status).toBe(401);
    expect((await put(attempt, new Uint8Array(gzipSync('{}')))).status).toBe(422);
    expect((await put(attempt, new Uint8Array([1, 2, 3]))).status).toBe(422);
    expect((await put(attempt, new Uint8Array(gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))))).status).toBe(
      422,
    );
    expect((await put(attempt, new Uint8Array(1_100_000))).body.code).toBe('run_log_too_large');
    await end(attempt, undefined);
    expect((await put(attempt, bodyOf())).status).toBe(409);
  });
});

import type { LoggedAttempt } from '@runledger/contracts/run-logs';
import { head } from '@runledger/event-log/read/read-run';
import { readLog } from '@runledger/event-log/streams/logs';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORKFLOW, type AssignedRun } from '../../fixtures/assigned-run.ts';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

const attemptOf = ({ executor }: ServiceTestBed, run: AssignedRun): LoggedAttempt => ({
  ...run,
  attempt: 1,
  executor_id: executor,
});
const linesOf = async (service: ServiceTestBed, run: AssignedRun): Promise<string[]> => {
  const { chunks } = await readLog(service.log, attemptOf(service, run));
  return chunks.flatMap(({ lines }) => lines.map(([, stream, text]) => `${stream}: ${text}`));
};

/** One executor for all tests but that which kills its own. */
let service: ServiceTestBed;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service[Symbol.asyncDispose]());

/** What the gateway has kept since. */
const loggedSince = (before: number): unknown[] => service.gateway.logs.slice(before);

it('what a program writes is at the brokers while it runs, and is handed to the gateway at its end', async () => {
  const before = service.gateway.logs.length;
  const { run } = await service.assign('talk');
  await waitFor('both lines', async () => (await linesOf(service, run)).length === 2);
  expect((await linesOf(service, run)).toSorted()).toEqual(['stderr: to stderr', 'stdout: to stdout']);
  expect((await service.facts(run)).at(-1)?.type).toBe('RunStarted');
  service.end();
  const ended = await service.fact(run, 'RunSucceeded');
  expect(ended.data).toMatchObject({ log_blob: { sha256: expect.any(String) } });
  expect(loggedSince(before)).toMatchObject([{ lines: 2, bytes: 20 }]);
  await waitFor('the brokers to have nothing', async () => {
    const { chunks, isCleared } = await readLog(service.log, attemptOf(service, run));
    return isCleared && chunks.length === 0;
  });
});

it('what a program wrote before a kill -9 of the executor stays at the brokers', async () => {
  await using own = await startService();
  const { run } = await own.assign('talk');
  await waitFor('both lines', async () => (await linesOf(own, run)).length === 2);
  own.kill('SIGKILL');
  await own.exit();
  expect(await linesOf(own, run)).toHaveLength(2);
});

it('a flood of 20 MB is bounded, and its beginning and end are kept', async () => {
  const before = service.gateway.logs.length;
  const { run } = await service.assign('flood');
  const { data } = await service.fact(run, 'RunSucceeded');
  expect(data).toHaveProperty('log_blob');
  const [log] = loggedSince(before) as { lines: number; bytes: number; chunks: { lines: unknown[][] }[] }[];
  expect([log?.lines, log?.bytes]).toEqual([200_000, 20_000_000]);
  const texts = (log?.chunks ?? []).flatMap(({ lines }) => lines.map(([, , text]) => String(text)));
  expect(texts.at(0)?.trim()).toBe('1');
  expect(texts.at(-1)?.trim()).toBe('200000');
  expect(texts.reduce((sum, text) => sum + text.length, 0)).toBeLessThanOrEqual(1024 ** 2);
});

it('masks leave neither a line nor the message of an error, and without them no run begins', async () => {
  const before = service.gateway.logs.length;
  service.gateway.assignment = { workflow: WORKFLOW, log_masks: ['sk-[a-z0-9]+'] };
  const { run } = await service.assign('leak', { has_log_masks: true });
  const { data } = await service.fact(run, 'RunFailed');
  expect(JSON.stringify([data, loggedSince(before)])).not.toContain('s3cret');
  expect(data).toMatchObject({ error: { message: expect.stringContaining('the key *** is wrong') } });
  expect(JSON.stringify(loggedSince(before))).toContain('the key ***');
  service.gateway.assignment = { workflow: WORKFLOW, log_masks: ['('] };
  const { run: unmasked } = await service.assign('leak', { has_log_masks: true });
  expect((await service.fact(unmasked, 'RunFailed')).data).toMatchObject({
    error: { kind: 'internal_error', message: expect.stringContaining('log masks') },
  });
});

const keptLines = (before: number): string[] =>
  (loggedSince(before) as { chunks: { lines: unknown[][] }[] }[]).flatMap(({ chunks }) =>
    chunks.flatMap(({ lines }) => lines.map(([, , text]) => String(text))),
  );

it('a run that is over its time limit ends when its program has, with all that it wrote', async () => {
  const before = service.gateway.logs.length;
  const { run } = await service.assign('chatty', { run_timeout_s: 1 });
  const { data } = await service.fact(run, 'RunFailed');
  expect(data).toMatchObject({
    error: { kind: 'run_timeout', retryable: false, message: expect.stringContaining('1 s and was stopped') },
    progress: 0.25,
    log_blob: { sha256: expect.any(String) },
  });
  expect(keptLines(before)).toEqual(['started', 'unendedstopping', 'the last']);
});

it('a program that ignores its end and writes for ever delays it by the grace period only', async () => {
  const before = service.gateway.logs.length;
  const { run } = await service.assign('endless', { run_timeout_s: 1 });
  const { data } = await service.fact(run, 'RunFailed');
  expect(data).toMatchObject({
    error: { kind: 'run_timeout', message: expect.stringContaining('was killed') },
    log_blob: { sha256: expect.any(String) },
  });
  expect(keptLines(before).at(-1)).toBe('and on');
});

it('a cancel keeps what was written, to the last line', async () => {
  const before = service.gateway.logs.length;
  const { run } = await service.assign('chatty');
  await waitFor('the first line', async () => (await linesOf(service, run)).length > 0);
  await service.append(run.cancelRequested, await head(service.log, run));
  const { data } = await service.fact(run, 'RunCancelled');
  expect(data).toHaveProperty('log_blob');
  expect(keptLines(before)).toEqual(['started', 'unendedstopping', 'the last']);
});

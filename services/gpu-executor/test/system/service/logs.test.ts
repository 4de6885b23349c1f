import type { LoggedAttempt } from '@runledger/contracts/run-logs';
import { head } from '@runledger/event-log/read/read-run';
import { readLog } from '@runledger/event-log/streams/logs';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
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

it('what a program writes is at the brokers while it runs, and is handed to the gateway at its end', async () => {
  await using service = await startService();
  const { run } = await service.assign('talk');
  await waitFor('both lines', async () => (await linesOf(service, run)).length === 2);
  expect((await linesOf(service, run)).toSorted()).toEqual(['stderr: to stderr', 'stdout: to stdout']);
  expect((await service.facts(run)).at(-1)?.type).toBe('RunStarted');
  service.end();
  const ended = await service.fact(run, 'RunSucceeded');
  expect(ended.data).toMatchObject({ log_blob: { sha256: expect.any(String) } });
  expect(service.gateway.logs).toMatchObject([{ lines: 2, bytes: 20 }]);
  await waitFor('the brokers to have nothing', async () => {
    const { chunks, isCleared } = await readLog(service.log, attemptOf(service, run));
    return isCleared && chunks.length === 0;
  });
});

it('what a program wrote before a kill -9 of the executor stays at the brokers', async () => {
  await using service = await startService();
  const { run } = await service.assign('talk');
  await waitFor('both lines', async () => (await linesOf(service, run)).length === 2);
  service.kill('SIGKILL');
  await service.exit();
  expect(await linesOf(service, run)).toHaveLength(2);
});

it('a flood of 100 MB is bounded, and its beginning and end are kept', async () => {
  await using service = await startService();
  const { run } = await service.assign('flood');
  const { data } = await service.fact(run, 'RunSucceeded');
  expect(data).toHaveProperty('log_blob');
  const [log] = service.gateway.logs as { lines: number; bytes: number; chunks: { lines: unknown[][] }[] }[];
  expect([log?.lines, log?.bytes]).toEqual([1_000_000, 100_000_000]);
  const texts = (log?.chunks ?? []).flatMap(({ lines }) => lines.map(([, , text]) => String(text)));
  expect(texts.at(0)?.trim()).toBe('1');
  expect(texts.at(-1)?.trim()).toBe('1000000');
  expect(texts.reduce((sum, text) => sum + text.length, 0)).toBeLessThanOrEqual(1024 ** 2);
});

it('masks leave neither a line nor the message of an error, and without them no run begins', async () => {
  await using service = await startService();
  service.gateway.assignment = { workflow: WORKFLOW, log_masks: ['sk-[a-z0-9]+'] };
  const { run } = await service.assign('leak', { has_log_masks: true });
  const { data } = await service.fact(run, 'RunFailed');
  expect(JSON.stringify([data, service.gateway.logs])).not.toContain('s3cret');
  expect(data).toMatchObject({ error: { message: expect.stringContaining('the key *** is wrong') } });
  expect(JSON.stringify(service.gateway.logs)).toContain('the key ***');
  service.gateway.assignment = { workflow: WORKFLOW, log_masks: ['('] };
  const { run: unmasked } = await service.assign('leak', { has_log_masks: true });
  expect((await service.fact(unmasked, 'RunFailed')).data).toMatchObject({
    error: { kind: 'internal_error', message: expect.stringContaining('log masks') },
  });
});

const keptLines = (service: ServiceTestBed): string[] =>
  (service.gateway.logs as { chunks: { lines: unknown[][] }[] }[]).flatMap(({ chunks }) =>
    chunks.flatMap(({ lines }) => lines.map(([, , text]) => String(text))),
  );

it('a run that is over its time limit ends when its program has, with all that it wrote', async () => {
  await using service = await startService();
  const { run } = await service.assign('chatty', { run_timeout_s: 1 });
  const { data } = await service.fact(run, 'RunFailed');
  expect(data).toMatchObject({
    error: { kind: 'run_timeout', retryable: false, message: expect.stringContaining('1 s and was stopped') },
    progress: 0.25,
    log_blob: { sha256: expect.any(String) },
  });
  expect(keptLines(service)).toEqual(['started', 'unendedstopping', 'the last']);
});

it('a program that ignores its end and writes for ever delays it by the grace period only', async () => {
  await using service = await startService();
  const { run } = await service.assign('endless', { run_timeout_s: 1 });
  const { data } = await service.fact(run, 'RunFailed');
  expect(data).toMatchObject({
    error: { kind: 'run_timeout', message: expect.stringContaining('was killed') },
    log_blob: { sha256: expect.any(String) },
  });
  expect(keptLines(service).at(-1)).toBe('and on');
});

it('a cancel keeps what was written, to the last line', async () => {
  await using service = await startService();
  const { run } = await service.assign('chatty');
  await waitFor('the first line', async () => (await linesOf(service, run)).length > 0);
  await service.append(run.cancelRequested, await head(service.log, run));
  const { data } = await service.fact(run, 'RunCancelled');
  expect(data).toHaveProperty('log_blob');
  expect(keptLines(service)).toEqual(['started', 'unendedstopping', 'the last']);
});

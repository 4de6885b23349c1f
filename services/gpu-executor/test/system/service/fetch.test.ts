import { MAX_ASSIGNMENT_BYTES } from '@runledger/contracts/limits';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { head } from '@runledger/event-log/read/read-run';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sha256Of, WORKFLOW, type AssignedRun } from '../../fixtures/assigned-run.ts';
import { startGateway } from '../../fixtures/execution-gateway.ts';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

let service: ServiceTestBed;
beforeAll(async () => {
  // Nothing is cached: every run fetches its workflow.
  service = await startService({ EXECUTOR_WORKFLOW_CACHE_BYTES: '0' });
});
afterAll(() => service[Symbol.asyncDispose]());
afterEach(() => {
  service.gateway.fetchFailures = [];
  service.gateway.assignment = { workflow: WORKFLOW };
});

const types = async (run: AssignedRun): Promise<string[]> =>
  (await service.facts(run)).map(({ type }) => type);
const over = (): Promise<unknown> => service.over();
const forever = (failure: number | 'broken' | 'held') => Array.from({ length: 1_000 }, () => failure);
const statusOf = async (run: AssignedRun) =>
  (await lastProgress(service.log, run, 1, service.executor))?.live_status;

describe('an attempt that fetches its assignment', () => {
  it('gives the program the workflow and the inputs that the assignment names', async () => {
    const inputs = JSON.stringify({ prompt: 'x'.repeat(10_000) });
    service.gateway.assignment = { workflow: WORKFLOW, inputs };
    const { run } = await service.assign('echo', {
      inputs: null,
      inputs_blob: { sha256: sha256Of(inputs), bytes: inputs.length },
    });
    await service.fact(run, 'RunSucceeded');
    expect(JSON.parse(service.gateway.stored.get('stdin.json')?.toString() ?? '')).toMatchObject({
      run_id: run.run_id,
      workflow: JSON.parse(WORKFLOW) as unknown,
      inputs: JSON.parse(inputs) as unknown,
    });
  });

  it('waits while the gateway is away, says so, and starts once it is back', async () => {
    service.gateway.fetchFailures = ['broken', 503, 'broken'];
    const { run } = await service.assign('quiet');
    await waitFor('the live status', async () => (await statusOf(run)) === 'waiting for the gateway');
    await service.fact(run, 'RunSucceeded');
    expect(await types(run)).toEqual(['RunQueued', 'RunAssigned', 'RunStarted', 'RunSucceeded']);
    expect(await statusOf(run)).toBeNull();
  });

  it.each(['held', 503] as const)('ends as cancelled at once while the gateway is %s', async (failure) => {
    service.gateway.fetchFailures = forever(failure);
    const { run } = await service.assign('quiet');
    await service.append(run.cancelRequested, await head(service.log, run));
    expect(await service.fact(run, 'RunCancelled')).toMatchObject({ data: { forced: false } });
    expect(await types(run)).toEqual(['RunQueued', 'RunAssigned', 'RunCancelRequested', 'RunCancelled']);
  });

  it('stops when the run is requeued, stores nothing, and frees its slot', async () => {
    service.gateway.fetchFailures = forever('held');
    const { run } = await service.assign('quiet');
    await waitFor('the request', () => service.gateway.fetchFailures.length < 1_000);
    await service.append(run.requeued, await head(service.log, run));
    service.gateway.fetchFailures = [];
    const next = await service.assign('quiet');
    await service.fact(next.run, 'RunSucceeded');
    await over();
    expect((await types(run)).at(-1)).toBe('RunRequeued');
  });

  it('fails, and says what to do, when the version no longer exists', async () => {
    service.gateway.assignment = {};
    const { run } = await service.assign('quiet');
    expect(await service.fact(run, 'RunFailed')).toMatchObject({
      data: { error: { kind: 'deployment_removed', message: 'The workflow is gone. Queue the run again.' } },
    });
    expect(await types(run)).toEqual(['RunQueued', 'RunAssigned', 'RunFailed']);
  });

  it('fails with an error of the system when its workflow is damaged in the store', async () => {
    service.gateway.fetchFailures = [424];
    const { run } = await service.assign('quiet');
    expect(await service.fact(run, 'RunFailed')).toMatchObject({
      data: { error: { kind: 'internal_error' } },
    });
  });

  it('fails when the gateway has another workflow, or one that is too long', async () => {
    service.gateway.assignment = { workflow: '{"nodes":[]}' };
    const { run: changed } = await service.assign('quiet');
    expect(await service.fact(changed, 'RunFailed')).toMatchObject({
      data: {
        error: {
          kind: 'internal_error',
          message: expect.stringContaining(`should be ${sha256Of(WORKFLOW)}`),
        },
      },
    });
    service.gateway.assignment = { workflow: `"${'x'.repeat(MAX_ASSIGNMENT_BYTES)}"` };
    const { run: long } = await service.assign('quiet');
    expect(await service.fact(long, 'RunFailed')).toMatchObject({
      data: {
        error: {
          kind: 'internal_error',
          message: expect.stringContaining(`longer than ${MAX_ASSIGNMENT_BYTES} bytes`),
        },
      },
    });
  });
});

it('a gateway that dies during a fetch is waited for, until another one has its address', async () => {
  await using own = await startService();
  own.gateway.fetchFailures = forever('held');
  const { run } = await own.assign('quiet');
  await waitFor('the request', () => own.gateway.fetchFailures.length < 1_000);
  await own.gateway[Symbol.asyncDispose]();
  const status = async () => (await lastProgress(own.log, run, 1, own.executor))?.live_status;
  await waitFor('the live status', async () => (await status()) === 'waiting for the gateway');
  await using next = await startGateway(Number(new URL(own.gateway.url).port));
  next.publicKey = own.registered.public_key;
  await own.fact(run, 'RunSucceeded');
  expect(next.fetches).toEqual(['assignment']);
});

it('a stop ends a fetch, and leaves the run to the scheduler', async () => {
  await using stopped = await startService();
  stopped.gateway.fetchFailures = forever('held');
  const { run } = await stopped.assign('quiet');
  await waitFor('the request', () => stopped.gateway.fetchFailures.length < 1_000);
  stopped.kill('SIGTERM');
  expect(await stopped.exit()).toBe(0);
  expect((await stopped.facts(run)).at(-1)?.type).toBe('RunAssigned');
});

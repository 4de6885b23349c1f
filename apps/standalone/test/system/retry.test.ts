import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { historyOf } from '../fixtures/log-of.ts';
import { kill9 } from '../fixtures/processes.ts';
import { runApi, type RunApi } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';

const FIRST_ATTEMPT = ['RunQueued', 'RunAssigned', 'RunStarted', 'RunAttemptFailed'];

describe('a deployment that tries again after an error', () => {
  let standalone: Standalone;
  let api: RunApi;
  beforeAll(async () => {
    standalone = await startStandalone({ env: { EXECUTOR_GPUS: 'A10G:1' } });
    api = runApi(standalone);
    const { url, api_key, deployment_id } = standalone;
    const changed = await fetch(`${url}/deployments/${deployment_id}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ retry: { attempts: 2, on: ['program_exit'] } }),
    });
    if (!changed.ok) throw new Error(`the deployment cannot be changed: ${await changed.text()}`);
  }, 120_000);
  afterAll(() => standalone.stop());

  const typesOf = async (run: string): Promise<string[]> => {
    const { facts } = await historyOf(standalone.dataFolder, await api.get(run));
    return facts.map(({ event }) => event.type);
  };
  /** A run whose first attempt has failed. The sample has no such palette. */
  const waiting = async (): Promise<string> => {
    const run = await api.queue({ palette: 'mud' });
    await waitFor('the error of the first attempt', async () => {
      const { status, compute_function_call_id } = await api.get(run);
      return status === 'queued' && compute_function_call_id !== null;
    });
    return run;
  };

  it('has another attempt after a wait, and fails with the error of the last one', async () => {
    const run = await waiting();
    const ended = await api.ended(run, 60_000);
    const error = { kind: 'program_exit', exit_code: 1 };
    expect(ended).toMatchObject({
      status: 'failed',
      error,
      attempts: [
        { number: 1, error },
        { number: 2, error },
      ],
    });
    expect(await typesOf(run)).toEqual([...FIRST_ATTEMPT, 'RunAssigned', 'RunStarted', 'RunFailed']);
    const { facts } = await historyOf(standalone.dataFolder, ended);
    const [failed, assigned] = facts.slice(3, 5);
    const waitedS = (Date.parse(assigned?.time ?? '') - Date.parse(failed?.time ?? '')) / 1_000;
    expect(failed?.event.type === 'RunAttemptFailed' && failed.event.data.retry_after_s).toBeLessThanOrEqual(
      waitedS,
    );
  });

  it('is cancelled at once while it waits', async () => {
    const run = await waiting();
    expect(await api.cancel(run)).toMatchObject({ outcome: 'cancelled' });
    expect(await typesOf(run)).toEqual([...FIRST_ATTEMPT, 'RunCancelRequested']);
  });

  it('has its other attempt after a kill -9 of the scheduler and the executor', async () => {
    const run = await waiting();
    kill9(standalone.pid, 'services/scheduler/src/main.');
    kill9(standalone.pid, 'services/gpu-executor/src/main.');
    expect(await api.ended(run, 120_000)).toMatchObject({
      status: 'failed',
      error: { kind: 'program_exit' },
    });
    expect((await typesOf(run)).slice(0, 5)).toEqual([...FIRST_ATTEMPT, 'RunAssigned']);
  });
});

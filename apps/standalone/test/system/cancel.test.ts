import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { historyOf } from '../fixtures/log-of.ts';
import { descendants } from '../fixtures/processes.ts';
import { runApi, type RunApi } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';

const GRACE_S = 2;

describe('a cancel in a standalone', () => {
  let standalone: Standalone;
  let api: RunApi;
  beforeAll(async () => {
    standalone = await startStandalone({
      env: {
        EXECUTOR_GPUS: 'A10G:1',
        EXECUTOR_CANCEL_GRACE_S: String(GRACE_S),
      },
    });
    api = runApi(standalone);
  }, 120_000);
  afterAll(() => standalone.stop());

  /** Without the supervisor, whose command names what they may see. */
  const programs = (): number[] =>
    descendants(standalone.pid)
      .filter(
        ({ command }) =>
          command.includes('sample/render-image') && !command.includes('supervision/supervisor.'),
      )
      .map(({ pid }) => pid);

  it('ends the processes of a cancelled run within the grace period', async () => {
    const run = await api.queue({ seconds: 60, size: 64 });
    await api.reaches(run, 'running', 20_000);
    await waitFor('the program to run', () => programs().length > 0);

    expect(await api.cancel(run)).toEqual({
      run_id: run,
      status: 'running',
      outcome: 'cancellation_requested',
    });
    const ended = await api.ended(run, 20_000);
    expect(ended).toMatchObject({ status: 'cancelled', end_reason: 'cancelled_by_client' });
    expect(programs()).toEqual([]);

    const { facts } = await historyOf(standalone.dataFolder, ended);
    const [requested, cancelled] = facts.slice(-2);
    expect(cancelled?.event.type).toBe('RunCancelled');
    // By the broker's clock, with a margin for a slow machine. Without a cancel, the run would take a minute.
    const tookMs = Date.parse(cancelled?.time ?? '') - Date.parse(requested?.time ?? '');
    expect(tookMs).toBeLessThan((GRACE_S + 10) * 1_000);
  });
});

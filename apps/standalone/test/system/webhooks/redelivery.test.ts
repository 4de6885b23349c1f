import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { letRunsExpire } from '../../fixtures/log-of.ts';
import { runApi, type RunApi } from '../../fixtures/run-api.ts';
import { runCli } from '../../fixtures/run-cli.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';
import { aReceiver, type Receiver } from '../../fixtures/webhook-receiver.ts';
import { notifierMetric } from './notifier-metric.ts';

const RUNS = 200;
const AT_ONCE = 10;
const GIVE_UP_S = 45;
const LIMIT_MS = 300_000;

interface ListedLine {
  readonly run_id: string;
  readonly webhook_status: string;
  readonly given_up_reason: string | null;
}

describe('runledger redeliver', { timeout: LIMIT_MS }, () => {
  let standalone: Standalone;
  let api: RunApi;
  beforeAll(async () => {
    standalone = await startStandalone({
      env: {
        EXECUTOR_GPUS: 'A10G:1',
        RUNLEDGER_WEBHOOK_GIVE_UP_S: String(GIVE_UP_S),
        RUNLEDGER_WEBHOOK_RECONCILE_EVERY_S: '0.5',
        // Room for some 50 deliveries of one organisation.
        RUNLEDGER_LOG_SETTINGS: JSON.stringify({ timersMaxBytes: 64 * 1024 }),
      },
    });
    api = runApi(standalone);
  }, 120_000);
  afterAll(() => standalone.stop());

  const cli = async (...args: readonly string[]): Promise<string> =>
    (await runCli(args, standalone.dataFolder)).stdout;

  const webhooks = async (status: string): Promise<readonly ListedLine[]> => {
    const lines = await cli('webhooks', '--status', status, '--limit', '1000', '--json');
    return lines
      .split('\n')
      .filter((line) => line !== '')
      .map((line): ListedLine => JSON.parse(line));
  };

  /** Runs that wait for the only slot, and are cancelled. */
  const endRuns = async (count: number, { url: webhook }: Receiver): Promise<string[]> => {
    const busy = await api.queue({ seconds: 600, size: 64 });
    await api.reaches(busy, 'running', 30_000);
    const runs: string[] = [];
    while (runs.length < count) {
      const some = Array.from({ length: Math.min(AT_ONCE, count - runs.length) }, async () => {
        const run = await api.queue({}, { webhook });
        await api.cancel(run);
        return run;
      });
      runs.push(...(await Promise.all(some)));
    }
    await api.cancel(busy);
    return runs;
  };

  /** Asks the gateway, because each call of the command line starts a process. */
  const webhooksAre = async (runs: readonly string[], status: string, withinMs: number): Promise<void> => {
    const deadline = performance.now() + withinMs;
    for (const run of runs)
      await waitFor(
        `the webhook of ${run} to be ${status}`,
        async () => (await api.get(run)).webhook_status === status,
        { withinMs: deadline - performance.now() },
      );
  };

  it('--failed delivers all that were given up, also those that TIMERS had no room for', async () => {
    await using receiver = await aReceiver(() => 503);
    const runs = await endRuns(RUNS, receiver);
    await waitFor(
      'notifications that TIMERS has no room for',
      async () => (await notifierMetric(standalone, 'runledger_notifier_left_in_log')) > 0,
    );
    await webhooksAre(runs, 'failed', 120_000);
    const failed = await waitFor(
      'all to be listed',
      async () => {
        const found = await webhooks('failed');
        return found.length === RUNS && found;
      },
      { withinMs: 60_000 },
    );
    expect(new Set(failed.map(({ run_id }) => run_id))).toEqual(new Set(runs));
    expect(new Set(failed.map(({ given_up_reason }) => given_up_reason))).toEqual(new Set(['expired']));
    const [run = ''] = runs;
    expect(await cli('deliveries', run)).toMatch(
      new RegExp(`Failed: The receiver accepted nothing for .*: runledger redeliver ${run}\n$`),
    );

    receiver.answer = () => 200;
    await waitFor(
      'the breaker to let a probe through',
      async () => (await notifierMetric(standalone, 'runledger_notifier_open_breakers')) === 0,
      { withinMs: 150_000 },
    );
    expect(await cli('redeliver', '--failed', '--dry-run')).toBe(
      `${RUNS} notifications would be sent again. Nothing was changed.\n`,
    );
    expect(await cli('redeliver', '--failed')).toBe(`${RUNS} notifications will be sent again.\n`);
    await webhooksAre(runs, 'success', 60_000);
    await waitFor('all to be listed', async () => (await webhooks('success')).length === RUNS, {
      withinMs: 60_000,
    });
    expect(await webhooks('failed')).toEqual([]);
    expect(await cli('deliveries', run)).toMatch(
      /round 2, attempt 1 +200 accepted.*\nDelivered: the receiver/,
    );
  });

  it('refuses a notification whose run has expired from the log, and says why', async () => {
    await using receiver = await aReceiver(() => 503);
    const [run = ''] = await endRuns(1, receiver);
    await waitFor('the first attempt', async () => (await api.deliveries(run)).state === 'retrying');
    await letRunsExpire(standalone.dataFolder);
    const gone = await waitFor(
      'it to be given up',
      async () => {
        const [found] = await api.listDeliveries('status=failed');
        return found;
      },
      { withinMs: 90_000 },
    );
    expect(gone).toMatchObject({ run_id: run, given_up_reason: 'log_expired' });
    receiver.answer = () => 200;
    // By the notifier at the next attempt, or sooner by the gateway that projects.
    expect(await cli('deliveries', run)).toMatch(/Failed: .*\blog\b.* read the run instead\./i);
    await expect(cli('redeliver', run)).rejects.toThrow('have expired from the log');
    expect(await cli('redeliver', '--failed')).toBe('0 notifications will be sent again.\n');
    expect(receiver.of(run).length).toBeGreaterThan(0);
  });
});

import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver, isSignedWith } from '../../fixtures/webhook-receiver.ts';
import { runApi, type RunApi, type RunShown } from '../../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';
import { viewsInFile, viewsInMongo, type StoredViews } from '../../fixtures/stored-views.ts';
import { expectConventions, expectMonitoredMetrics } from '../../monitoring/expect-metrics.ts';

const STATUSES = ['queued', 'started', 'running', 'uploading', 'success'];
const isRising = (numbers: readonly number[]): boolean =>
  numbers.every((number, at) => number >= (numbers[at - 1] ?? number));

describe('the webhook of a run', () => {
  let views: StoredViews;
  let standalone: Standalone;
  let api: RunApi;
  beforeAll(async () => {
    const stored = await viewsInMongo();
    views = typeof stored === 'string' ? viewsInFile() : stored;
    standalone = await startStandalone({ env: { ...views.env, EXECUTOR_GPUS: 'A10G:1' } });
    api = runApi(standalone);
  }, 120_000);
  afterAll(async () => {
    await standalone.stop();
    await views[Symbol.asyncDispose]();
  });

  /** Waits until the API and the stored views show the delivery. */
  const delivered = async (run: string): Promise<RunShown> => {
    const shown = await waitFor(`the webhook of run ${run}`, async () => {
      const now = await api.get(run);
      return now.webhook_status === 'success' && now;
    });
    await views.equalTheLog(standalone.dataFolder, [shown]);
    return shown;
  };

  it(
    'notifies from queued to success, and webhook_status only moves forward',
    { timeout: 90_000 },
    async () => {
      const release = Promise.withResolvers<void>();
      const shownAtTheEnd: RunShown[] = [];
      await using receiver = await aReceiver(async ({ payload }) => {
        if (payload.finished) shownAtTheEnd.push(await api.get(payload.run_id));
        // Until then, no delivery has ended.
        else if (payload.status === 'queued') await release.promise;
        return 200;
      });
      // It has the only slot, so that the other run waits.
      const busy = await api.queue({ seconds: 60, size: 64 });
      await api.reaches(busy, 'running', 20_000);
      const queuedAt = performance.now();
      const run = await api.queue(
        { seconds: 3, size: 100 },
        { webhook: receiver.url, webhook_intermediate_status: true },
      );
      await waitFor('the notification of the queued run', () => receiver.of(run).length > 0);
      const webhookStatuses = [(await api.get(run)).webhook_status];
      release.resolve();
      await api.cancel(busy);
      await waitFor(
        'the delivery to be shown',
        async () => {
          const { webhook_status } = await api.get(run);
          if (webhook_status !== webhookStatuses.at(-1)) webhookStatuses.push(webhook_status);
          return webhook_status === 'success';
        },
        { withinMs: 40_000 },
      );
      const withinMs = performance.now() - queuedAt;
      expect(webhookStatuses).toEqual(['not-started', 'running', 'success']);
      const ended = await delivered(run);

      const arrived = receiver.of(run);
      const payloads = arrived.map(({ payload }) => payload);
      expect(receiver.finalsOf(run)).toEqual(arrived.slice(-1));
      expect(payloads[0]).toMatchObject({ status: 'queued', progress: 0, finished: false, outputs: [] });
      expect(isRising(payloads.map(({ status }) => STATUSES.indexOf(status)))).toBe(true);
      expect(isRising(payloads.map(({ progress }) => progress))).toBe(true);
      expect(payloads.filter(({ progress }) => progress > 0 && progress < 1).length).toBeGreaterThanOrEqual(
        2,
      );
      // At most one a second, even on a slow machine.
      expect(payloads.length - 1).toBeLessThanOrEqual(Math.floor(withinMs / 1_000) + 1);
      expect(new Set(arrived.map(({ headers }) => headers['webhook-id'])).size).toBe(arrived.length);
      for (const one of arrived) expect(isSignedWith(standalone.webhook_secret, one)).toBe(true);

      const final = { status: 'success', progress: 1, end_reason: 'completed', outputs: ended.outputs };
      expect(payloads.at(-1)).toMatchObject(final);
      expect(shownAtTheEnd).toMatchObject([{ ...final, finished: true }]);
      const [picture = ''] = /http:[^"]+\.png/.exec(arrived.at(-1)?.body ?? '') ?? [];
      expect(await fetch(picture)).toMatchObject({ status: 200 });
    },
  );

  it('notifies of a run that was cancelled in the queue or while it ran, and of a failed run', async () => {
    await using receiver = await aReceiver();
    const busy = await api.queue({ seconds: 60, size: 64 }, { webhook: receiver.url });
    await api.reaches(busy, 'running', 20_000);
    const waiting = await api.queue({}, { webhook: receiver.url });
    await api.cancel(waiting);
    await api.cancel(busy);
    // The sample has no such palette.
    const failing = await api.queue({ palette: 'mud' }, { webhook: receiver.url });
    for (const run of [waiting, busy, failing]) await delivered(run);

    const cancelled = { status: 'cancelled', finished: true, end_reason: 'cancelled_by_client', outputs: [] };
    expect(receiver.of(waiting)).toMatchObject([{ payload: cancelled }]);
    expect(receiver.of(busy)).toMatchObject([{ payload: cancelled }]);
    expect(receiver.of(failing)).toMatchObject([{ payload: { status: 'failed', finished: true } }]);
  });

  // Series with labels exist after the events of the tests above.
  it('has every metric and label of board and alerts', async () => {
    await expectMonitoredMetrics(standalone);
  });

  it('has metrics whose names, units, helps and labels follow the conventions', async () => {
    await expectConventions(standalone);
  });
});

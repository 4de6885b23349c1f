import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import {
  assigned,
  cancelRequested,
  EXECUTOR,
  expired,
  runRequest,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { forgetAll, forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { factsOf, queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { deriveAgain } from '../../fixtures/views/derive-again.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import type { Here } from '../../fixtures/gateway/here.ts';
import { overEachViews } from '../../fixtures/views/over-each-views.ts';
import { openEventSource } from '../../runs/subscribe/an-event-source.ts';

overEachViews('a run that outlives the log', (here: Here) => {
  const aRunningOne = async (fields: object = {}): Promise<RunKey> => {
    const key = await queueSample(here.gateway, here.tenant, fields);
    await appendAll(here.bed.log, assigned(key), started(key));
    return key;
  };
  const shown = ({ run_id }: RunKey): Promise<ApiAnswer> =>
    call(`${here.gateway.api}/run/${run_id}?include=inputs`, here.tenant.key);
  const viewed = (key: RunKey, status: string): Promise<unknown> =>
    waitFor(
      `the view to be ${status}`,
      async () => (await here.gateway.views.find(key))?.run.status === status,
    );
  const cancel = ({ run_id }: RunKey): Promise<ApiAnswer> =>
    post(`${here.gateway.api}/run/${run_id}/cancel`, here.tenant.key, {});

  it('fails with a reason of its own, in GET, lists and streams, and can no longer be cancelled', async () => {
    const key = await aRunningOne({ inputs: { size: 7 } });
    await viewed(key, 'running');
    await using events = await openEventSource(here.gateway.eventsOf(key), here.tenant.key);
    await waitFor('three facts', () => events.facts().length === 3);
    await forgetAll(here.bed.log);
    await viewed(key, 'failed');
    expect((await shown(key)).body).toMatchObject({
      status: 'failed',
      end_reason: 'log_expired',
      finished: true,
      outputs: [],
      compute_function_call_id: `${key.run_id}.1`,
      workflow_inputs: { size: 7 },
    });
    await events.ended;
    expect(events.facts().at(-1)?.data).toMatchObject({
      type: 'RunExpired',
      finished: true,
      end_reason: 'log_expired',
    });
    const { body: page } = await call(`${here.gateway.api}/runs?status=failed`, here.tenant.key);
    expect(page.runs).toMatchObject([{ id: key.run_id, end_reason: 'log_expired' }]);
    expect(await cancel(key)).toMatchObject({
      status: 200,
      body: { status: 'failed', outcome: 'already_ended' },
    });
    expect(await factsOf(here.bed, here.tenant)).toBe(1);
  });

  it('ends at once when it is cancelled, before the gateway searches for such runs', async () => {
    const key = await aRunningOne();
    await viewed(key, 'running');
    await forgetAll(here.bed.log);
    expect(await cancel(key)).toMatchObject({
      status: 200,
      body: { status: 'failed', outcome: 'already_ended' },
    });
    expect(await factsOf(here.bed, here.tenant)).toBe(1);
  });

  it('ends as cancelled when that was requested', async () => {
    const key = await aRunningOne();
    await appendAll(here.bed.log, cancelRequested(key, 1, EXECUTOR));
    await waitFor('the request in the view', async () => {
      const view = await here.gateway.views.find(key);
      return view && 'cancel' in view.run && view.run.cancel;
    });
    await forgetAll(here.bed.log);
    await viewed(key, 'cancelled');
    expect((await shown(key)).body.end_reason).toBe('cancelled_by_client');
  });

  it('ends also when the log still has some of its facts', async () => {
    const key = await queueSample(here.gateway, here.tenant);
    await appendAll(here.bed.log, assigned(key));
    await untilOlder(here.bed.log);
    const last = await appendAll(here.bed.log, started(key));
    await viewed(key, 'running');
    await forgetBefore(here.bed.log, last);
    await viewed(key, 'failed');
    const read = await readRun(here.bed.log, key);
    expect(read).toMatchObject({ kind: 'found', run: { end_reason: 'log_expired' }, refused: [] });
    expect((await shown(key)).body.end_reason).toBe('log_expired');
  });

  it('does not end a run whose facts are all in the log', async () => {
    const gone = await aRunningOne();
    await viewed(gone, 'running');
    await forgetAll(here.bed.log);
    const healthy = await aRunningOne();
    await viewed(gone, 'failed');
    expect((await shown(healthy)).body.status).toBe('running');
    expect(await readRun(here.bed.log, healthy)).toMatchObject({ kind: 'found', run: { status: 'running' } });
  });

  it('keeps its idempotency key', async () => {
    const key = runIn(here.tenant, await queueKeyed(here.gateway, here.tenant, 'order-1'));
    await viewed(key, 'queued');
    await forgetAll(here.bed.log);
    await viewed(key, 'failed');
    expect(runIn(here.tenant, await queueKeyed(here.gateway, here.tenant, 'order-1'))).toEqual(key);
    expect((await queueKeyed(here.gateway, here.tenant, 'order-1', { inputs: { size: 2 } })).status).toBe(
      409,
    );
    expect(await factsOf(here.bed, here.tenant)).toBe(1);
  });
});

overEachViews('a notification that outlives the log', (here: Here) => {
  const HOOK = 'https://hooks.example/done';
  const anEndedOne = async (): Promise<RunKey> => {
    const key = await queueSample(here.gateway, here.tenant, { webhook: HOOK });
    await appendAll(here.bed.log, assigned(key), started(key), succeeded(key));
    return key;
  };
  const statusOf = async ({ run_id }: RunKey): Promise<unknown> =>
    (await call(`${here.gateway.api}/run/${run_id}`, here.tenant.key)).body.webhook_status;
  const viewed = (key: RunKey): Promise<unknown> =>
    waitFor(
      'the end in the view',
      async () => (await here.gateway.views.find(key))?.run.status === 'success',
    );

  it('fails, since nothing else knows of it, and its delivery says why', async () => {
    const [waiting, begun] = [await anEndedOne(), await anEndedOne()];
    await appendWebhook(here.bed.log, webhookStarted(begun));
    await viewed(begun);
    await forgetAll(here.bed.log);
    for (const key of [waiting, begun]) {
      await waitFor('the notification to fail', async () => (await statusOf(key)) === 'failed');
      const { body } = await call(`${here.gateway.api}/run/${key.run_id}/deliveries`, here.tenant.key);
      expect(body).toMatchObject({ given_up_reason: 'log_expired' });
    }
    const { body: page } = await call(
      `${here.gateway.api}/webhooks/deliveries?status=failed`,
      here.tenant.key,
    );
    expect(page.deliveries).toHaveLength(2);
  });

  it('fails also when the log still has the end of its run, but not the fact that says where it goes', async () => {
    const key = await queueSample(here.gateway, here.tenant, { webhook: HOOK });
    await appendAll(here.bed.log, assigned(key));
    await untilOlder(here.bed.log);
    const first = await appendAll(here.bed.log, started(key));
    await appendAll(here.bed.log, succeeded(key));
    await viewed(key);
    await forgetBefore(here.bed.log, first);
    expect(await readRun(here.bed.log, key)).toMatchObject({ kind: 'damaged' });
    await waitFor('the notification to fail', async () => (await statusOf(key)) === 'failed');
    const { body } = await call(`${here.gateway.api}/run/${key.run_id}/deliveries`, here.tenant.key);
    expect(body).toMatchObject({ given_up_reason: 'log_expired' });
    expect((await call(`${here.gateway.api}/run/${key.run_id}`, here.tenant.key)).body.status).toBe(
      'success',
    );
  });

  it('fails also when the views are derived again from the log, which has nothing of the run', async () => {
    const key = await anEndedOne();
    await viewed(key);
    await forgetAll(here.bed.log);
    await deriveAgain(here.bed.log, here.gateway.views);
    await waitFor('the notification to fail', async () => (await statusOf(key)) === 'failed');
    const { run_id } = key;
    const deletion = await call(`${here.gateway.api}/run/${run_id}`, here.tenant.key, { method: 'DELETE' });
    expect(deletion.status).toBe(200);
  });

  it('is left to the notifier while the log has the run', async () => {
    const gone = await anEndedOne();
    await viewed(gone);
    await forgetAll(here.bed.log);
    const kept = await anEndedOne();
    await waitFor('the notification to fail', async () => (await statusOf(gone)) === 'failed');
    expect(await statusOf(kept)).toBe('not-started');
  });

  it('is shown as it was before, also by views that are behind the end of the run', async () => {
    const key = await queueSample(here.gateway, here.tenant, { webhook: HOOK });
    await appendWebhook(here.bed.log, webhookStarted(key, 'intermediate'));
    await waitFor('a notification in the view', async () => (await statusOf(key)) === 'running');
    await waitFor('its fact in the view', async () => {
      const view = await here.gateway.views.find(key);
      return view?.webhook.state?.status === 'running';
    });
    const behind = sqliteViews();
    await behind.save(await here.gateway.views.load([key]));
    const { api } = await here.bed.gateway({ views: behind });
    await untilOlder(here.bed.log);
    const request = runRequest({ webhook: HOOK });
    await forgetBefore(here.bed.log, await appendAll(here.bed.log, expired(key, { request })));
    const { body } = await call(`${api}/run/${key.run_id}`, here.tenant.key);
    expect(body).toMatchObject({ end_reason: 'log_expired', webhook_status: 'running' });
  });
});

import { newUuid } from '@runledger/contracts/ids';
import { reportProgress } from '@runledger/event-log/streams/activity';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { unavailableViews } from '../../fixtures/views/mongo-views.ts';
import type { RunView } from '../../../src/views/run-view.ts';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { anEndedRun, HOOK } from '../../fixtures/runs/notified-runs.ts';
import { sayCaughtUp, viewOf as viewInLog } from '../../fixtures/views/stale-views.ts';
import {
  aRun,
  assigned,
  cancelRequested,
  failed,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  requeued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

const show = async ({ api }: { api: string }, { run_id }: RunKey, query = '') =>
  call(`${api}/run/${run_id}${query}`, bed.tenant.key);
const statusAt = async (gateway: { api: string }, key: RunKey) => (await show(gateway, key)).body.status;
const viewOf = (key: RunKey): Promise<RunView> => viewInLog(bed, key);

describe('reads never go back', () => {
  it('hold with the projection paused, at two gateways, after every step', async () => {
    const [first, second] = [await bed.gateway(), await bed.gateway()];
    const key = await queueSample(first, bed.tenant);
    expect([await statusAt(first, key), await statusAt(second, key)]).toEqual(['queued', 'queued']);
    for (const [event, status] of [
      [assigned(key), 'started'],
      [started(key), 'running'],
      [cancelRequested(key, 1, EXECUTOR), 'running'],
    ] as const) {
      await appendAll(bed.log, event);
      expect([await statusAt(first, key), await statusAt(second, key)]).toEqual([status, status]);
    }
  });

  it('hold when the view stopped at an earlier state', async () => {
    const views = sqliteViews();
    const gateway = await bed.gateway({ views });
    const key = await queueSample(gateway, bed.tenant);
    await views.save([await viewOf(key)]);
    await appendAll(bed.log, assigned(key), started(key), succeeded(key));
    expect(await statusAt(gateway, key)).toBe('success');
  });

  it('hold for 50 runs read right after their 200, while the projection runs', async () => {
    const [first, second] = [await bed.gateway({ projecting: true }), await bed.gateway()];
    const runs = await Promise.all(Array.from({ length: 50 }, () => queueSample(first, bed.tenant)));
    const statuses = await Promise.all(runs.flatMap((key) => [statusAt(first, key), statusAt(second, key)]));
    expect(new Set(statuses)).toEqual(new Set(['queued']));
    await waitFor('the views to have all runs', async () => (await first.views.load(runs)).length === 50);
    expect(await Promise.all(runs.map((key) => statusAt(first, key)))).toEqual(runs.map(() => 'queued'));
  });

  it('use a final view without the log', async () => {
    const views = sqliteViews();
    const gateway = await bed.gateway({ views });
    const gone = aRun(bed.tenant.org_id);
    const run = folded(queued(gone), assigned(gone), started(gone), failed(gone));
    await views.save([aView(4, run)]);
    expect((await show(gateway, gone)).body).toMatchObject({ status: 'failed', finished: true });
  });
});

describe('the webhook_status of a run', () => {
  const statusAt = async (gateway: { api: string }, key: RunKey) =>
    (await show(gateway, key)).body.webhook_status;

  it('is null without a webhook, and otherwise follows the facts of the notifier', async () => {
    const gateway = await bed.gateway();
    expect(await statusAt(gateway, await queueSample(gateway, bed.tenant))).toBeNull();
    const key = await queueSample(gateway, bed.tenant, { webhook: HOOK });
    expect(await statusAt(gateway, key)).toBe('not-started');
    await appendAll(bed.log, assigned(key));
    await appendWebhook(bed.log, webhookStarted(key, 'intermediate'));
    expect((await show(gateway, key)).body).toMatchObject({ status: 'started', webhook_status: 'running' });
    await appendAll(bed.log, started(key), succeeded(key));
    expect((await show(gateway, key)).body).toMatchObject({ status: 'success', webhook_status: 'running' });
    await appendWebhook(bed.log, webhookGivenUp(key));
    expect(await statusAt(gateway, key)).toBe('failed');
    await appendWebhook(bed.log, redeliveryRequested(key), webhookDelivered(key, 2));
    expect(await statusAt(gateway, key)).toBe('success');
  });

  it('never goes back, at two gateways of which one has stale views', async () => {
    const views = sqliteViews();
    const stale = await bed.gateway({ views });
    const fresh = await bed.gateway({ projecting: true });
    const key = await anEndedRun(bed, stale);
    const atBoth = async () => [await statusAt(fresh, key), await statusAt(stale, key)];
    await views.save([await viewOf(key)]);
    expect(await atBoth()).toEqual(['not-started', 'not-started']);
    await appendWebhook(bed.log, webhookStarted(key));
    expect(await atBoth()).toEqual(['running', 'running']);
    await views.save([await viewOf(key)]);
    await appendWebhook(bed.log, webhookGivenUp(key));
    expect(await atBoth()).toEqual(['failed', 'failed']);
    await views.save([await viewOf(key)]);
    expect((await post(`${fresh.api}/run/${key.run_id}/redeliver`, bed.tenant.key)).status).toBe(200);
    expect(await atBoth()).toEqual(['running', 'running']);
    await appendWebhook(bed.log, webhookDelivered(key, 2));
    expect(await atBoth()).toEqual(['success', 'success']);
  });

  it('never goes back while a run executes', async () => {
    const views = sqliteViews();
    const stale = await bed.gateway({ views });
    const key = await queueSample(stale, bed.tenant, { webhook: HOOK });
    await appendAll(bed.log, assigned(key));
    await appendWebhook(bed.log, webhookStarted(key, 'intermediate'));
    await views.save([await viewOf(key)]);
    await appendAll(bed.log, started(key));
    expect((await show(stale, key)).body).toMatchObject({ status: 'running', webhook_status: 'running' });
  });
});

describe('a view whose events have expired from the log', () => {
  it('is served as it is until the gateway ends the run', async () => {
    const views = sqliteViews();
    // Otherwise nobody knows that it has not ended.
    await sayCaughtUp(bed, views);
    const gateway = await bed.gateway({ views });
    const expired = aRun(bed.tenant.org_id);
    await views.save([aView(1, folded(queued(expired), assigned(expired)))]);
    expect(await statusAt(gateway, expired)).toBe('started');
    const cancel = await post(`${gateway.api}/run/${expired.run_id}/cancel`, bed.tenant.key);
    expect(cancel.body).toMatchObject({ status: 'failed', outcome: 'already_ended' });
    expect(await statusAt(gateway, expired)).toBe('failed');
    const ended = aRun(bed.tenant.org_id);
    await views.save([aView(900_000, folded(queued(ended), cancelRequested(ended)))]);
    expect((await post(`${gateway.api}/run/${ended.run_id}/cancel`, bed.tenant.key)).body).toEqual({
      run_id: ended.run_id,
      status: 'cancelled',
      outcome: 'cancelled',
    });
  });
});

describe('unavailable views', () => {
  it('do not prevent a read of a run in the log, and make a read of an unknown run a 503', async () => {
    await using unavailable = unavailableViews();
    const gateway = await bed.gateway({ views: unavailable });
    const key = await queueSample(gateway, bed.tenant);
    expect(await statusAt(gateway, key)).toBe('queued');
    const unknown = await call(`${gateway.api}/run/${newUuid()}`, bed.tenant.key);
    expect([unknown.status, unknown.headers.get('retry-after')]).toEqual([503, '2']);
  });
});

describe('reading a run', () => {
  it('finds neither an unknown run nor one of another organisation, in the log or in the views', async () => {
    const gateway = await bed.gateway({ projecting: true });
    const other = await bed.newTenant();
    const theirs = await queueSample(gateway, other);
    await waitFor('the view', () => gateway.views.find(theirs));
    for (const run_id of [newUuid(), theirs.run_id]) {
      const { status, body } = await call(`${gateway.api}/run/${run_id}`, bed.tenant.key);
      expect([status, body]).toEqual([404, aRefusal('run_not_found', 'Run not found')]);
      const cancel = await post(`${gateway.api}/run/${run_id}/cancel`, bed.tenant.key);
      expect([cancel.status, cancel.body]).toEqual([404, aRefusal('run_not_found', 'Run not found')]);
    }
    expect((await call(`${gateway.api}/run/${theirs.run_id}`, other.key)).status).toBe(200);
  });

  it('requires a UUID, in upper or lower case', async () => {
    const gateway = await bed.gateway();
    const key = await queueSample(gateway, bed.tenant);
    const upper = await call(`${gateway.api}/run/${key.run_id.toUpperCase()}`, bed.tenant.key);
    expect(upper.body.id).toBe(key.run_id);
    for (const text of ['1', 'deployment', '%00', '%zz', `${key.run_id}0`, 'a.b', '*', '>']) {
      for (const [method, tail] of [
        ['GET', ''],
        ['POST', '/cancel'],
      ]) {
        const { status, body } = await call(`${gateway.api}/run/${text}${tail}`, bed.tenant.key, {
          method: method ?? 'GET',
        });
        expect([text, status]).toEqual([text, 422]);
        expect(body.detail).toMatchObject([{ loc: ['path', 'run_id'], type: 'uuid_parsing' }]);
      }
    }
  });

  it('shows inputs and workflow when the request includes them', async () => {
    const gateway = await bed.gateway();
    const key = await queueSample(gateway, bed.tenant, { inputs: { a: 1 } });
    const included = async (query: string) => {
      const { body } = await show(gateway, key, query);
      return [body.workflow_inputs, body.workflow_api];
    };
    expect(await included('')).toEqual([null, null]);
    expect(await included('?include=inputs')).toEqual([{ a: 1 }, null]);
    expect(await included('?include=inputs,workflow_api')).toEqual([{ a: 1 }, { kind: 'fractal' }]);
    expect(await included('?include=inputs&include=workflow_api')).toEqual([{ a: 1 }, { kind: 'fractal' }]);
    const wrong = await call(`${gateway.api}/run/nonsense?include=outputs`, bed.tenant.key);
    expect(wrong.body.detail.map(({ loc }: { loc: string[] }) => loc)).toEqual([
      ['path', 'run_id'],
      ['query', 'include'],
    ]);
  });

  it('shows the last progress of the current attempt, not of an earlier one', async () => {
    const gateway = await bed.gateway();
    const key = await queueSample(gateway, bed.tenant);
    await appendAll(bed.log, assigned(key), started(key));
    const report = { progress: 0.4, live_status: 'row 200/500', time: new Date().toISOString() };
    reportProgress(bed.log, key, 1, EXECUTOR, report);
    await waitFor('the report to be shown', async () => (await show(gateway, key)).body.progress === 0.4);
    expect((await show(gateway, key)).body.live_status).toBe('row 200/500');
    await appendAll(bed.log, requeued(key));
    expect((await show(gateway, key)).body).toMatchObject({ status: 'queued', progress: 0 });
    await appendAll(bed.log, assigned(key, { attempt: 2, executor: OTHER_EXECUTOR }));
    expect((await show(gateway, key)).body).toMatchObject({ status: 'started', progress: 0 });
  });

  it('answers HEAD as GET, without a body', async () => {
    const gateway = await bed.gateway();
    const key = await queueSample(gateway, bed.tenant);
    const head = await call(`${gateway.api}/run/${key.run_id}`, bed.tenant.key, { method: 'HEAD' });
    expect([head.status, head.body]).toEqual([200, '']);
  });
});

describe('another base path', () => {
  it('serves the API, and the default path does not', async () => {
    const environment = { RUNLEDGER_BASE_PATH: '/v2/flows' };
    const gateway = await bed.gateway({ environment });
    const key = await queueSample(gateway, bed.tenant);
    expect(gateway.api).toBe(`${gateway.url}/v2/flows`);
    expect(await statusAt(gateway, key)).toBe('queued');
    expect((await call(`${gateway.url}/api/run/${key.run_id}`, bed.tenant.key)).status).toBe(404);
  });
});

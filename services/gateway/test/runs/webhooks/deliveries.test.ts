import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { recordDeliveryState, recordDeliveryAttempt } from '@runledger/event-log/streams/delivery-attempts';
import { aRun, queued, succeeded, assigned, started } from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { anEndedRun, aState, aDeliveryAttempt, HOOK, shown } from '../../fixtures/runs/notified-runs.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
let admin: string;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
  admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
});
afterAll(() => bed[Symbol.asyncDispose]());

const deliveriesOf = ({ run_id }: RunKey, key = admin) =>
  call(`${gateway.api}/run/${run_id}/deliveries`, key);

describe('the deliveries of a run', () => {
  it('are empty before the first attempt', async () => {
    const key = await queueSample(gateway, bed.tenant, { webhook: HOOK });
    expect((await deliveriesOf(key)).body).toEqual({
      run_id: key.run_id,
      webhook: 'https://hooks.example/done?[hidden]',
      webhook_status: 'not-started',
      round: 1,
      state: null,
      next_try_at: null,
      given_up_reason: null,
      message: null,
      tries: [],
      intermediate: null,
    });
  });

  it('are empty for a run without a webhook', async () => {
    const key = await queueSample(gateway, bed.tenant);
    expect((await deliveriesOf(key)).body).toEqual({
      run_id: key.run_id,
      webhook: null,
      webhook_status: null,
      round: 1,
      state: null,
      next_try_at: null,
      given_up_reason: null,
      message: null,
      tries: [],
      intermediate: null,
    });
  });

  it('show every attempt in order, the latest intermediate one, and the time of the next', async () => {
    const key = await anEndedRun(bed, gateway);
    await appendWebhook(bed.log, webhookStarted(key));
    const tries = [
      aDeliveryAttempt(1),
      aDeliveryAttempt(2, { reason: 'timed_out', status: null, answer: null }),
    ];
    const intermediate = aDeliveryAttempt(1, {
      notification: 'intermediate',
      reason: 'accepted',
      status: 204,
    });
    for (const made of [...tries, intermediate]) await recordDeliveryAttempt(bed.log, key, made);
    await recordDeliveryState(bed.log, key, aState());
    const { state, next_try_at, message } = aState();
    expect((await deliveriesOf(key)).body).toMatchObject({
      webhook_status: 'running',
      round: 1,
      state,
      next_try_at,
      message,
      tries: tries.map(shown),
      intermediate: shown(intermediate),
    });
  });

  it('show a deferred delivery without the time of its next attempt', async () => {
    const key = await anEndedRun(bed, gateway);
    await appendWebhook(bed.log, webhookStarted(key));
    const message = 'https://hooks.example is left alone until 12:00:00, after 5 failures in a row';
    await recordDeliveryState(bed.log, key, aState({ state: 'deferred', next_try_at: null, message }));
    expect((await deliveriesOf(key)).body).toMatchObject({ state: 'deferred', next_try_at: null, message });
  });

  it('show no state after the delivery is settled, or another round has begun', async () => {
    const key = await anEndedRun(bed, gateway);
    await recordDeliveryState(bed.log, key, aState());
    const at = async () => (await deliveriesOf(key)).body;
    await appendWebhook(bed.log, webhookGivenUp(key));
    expect(await at()).toMatchObject({
      webhook_status: 'failed',
      round: 1,
      state: null,
      next_try_at: null,
      given_up_reason: 'tries_used_up',
      message: 'the receiver answered 503',
    });
    await appendWebhook(bed.log, redeliveryRequested(key));
    expect(await at()).toMatchObject({ webhook_status: 'running', round: 2, state: null, message: null });
    await recordDeliveryState(bed.log, key, aState({ round: 2 }));
    expect(await at()).toMatchObject({ round: 2, state: 'retrying' });
    await appendWebhook(bed.log, webhookDelivered(key, 2));
    expect(await at()).toMatchObject({ webhook_status: 'success', round: 2, state: null, message: null });
  });

  it('are shown only to keys that may read the run', async () => {
    const other = await bed.newTenant();
    const theirs = await queueSample(gateway, other, { webhook: HOOK });
    for (const run_id of [theirs.run_id, newUuid()]) {
      const { status, body } = await call(`${gateway.api}/run/${run_id}/deliveries`, bed.tenant.key);
      expect([status, body]).toEqual([404, aRefusal('run_not_found', 'Run not found')]);
    }
    const reader = await aKey(bed.log, other, { scopes: ['runs:read'] });
    expect((await deliveriesOf(theirs, reader)).status).toBe(200);
    expect((await call(`${gateway.api}/run/${theirs.run_id}/deliveries`, null)).status).toBe(401);
    const wrong = await call(`${gateway.api}/run/1/deliveries`, bed.tenant.key);
    expect(wrong.body.detail).toMatchObject([{ loc: ['path', 'run_id'], type: 'uuid_parsing' }]);
  });

  it('are shown also when only the views have the run', async () => {
    const views = sqliteViews();
    const { api } = await bed.gateway({ views });
    const key = aRun(bed.tenant.org_id);
    const run = folded(queued(key, { webhook: HOOK }), assigned(key), started(key), succeeded(key));
    await views.save([aView(4, run)]);
    const { body } = await call(`${api}/run/${key.run_id}/deliveries`, bed.tenant.key);
    expect(body).toMatchObject({ webhook_status: 'not-started', tries: [] });
  });
});

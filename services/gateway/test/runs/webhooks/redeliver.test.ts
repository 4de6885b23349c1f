import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { MAX_ROUNDS } from '@runledger/contracts/events/webhook-event';
import { recordDeliveryState } from '@runledger/event-log/streams/delivery-attempts';
import { readRun } from '@runledger/event-log/read/read-run';
import {
  assigned,
  aRun,
  expired,
  queued,
  runRequest,
  started,
  succeeded,
} from '@runledger/testing/run-events';
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
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { anEndedRun, aState, HOOK } from '../../fixtures/runs/notified-runs.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const redeliver = ({ run_id }: RunKey, at = gateway, key = bed.tenant.key) =>
  post(`${at.api}/run/${run_id}/redeliver`, key);
const webhookOf = async (key: RunKey) => {
  const read = await readRun(bed.log, key);
  return read.kind === 'found' ? read.webhook?.state : undefined;
};

describe('a redelivery', () => {
  it('begins another round of a delivery that was given up', async () => {
    const key = await anEndedRun(bed, gateway);
    await appendWebhook(bed.log, webhookGivenUp(key));
    const { status, body } = await redeliver(key);
    expect([status, body]).toEqual([200, { run_id: key.run_id, webhook_status: 'running', round: 2 }]);
    expect(await webhookOf(key)).toMatchObject({ status: 'running', round: 2 });
    const run = await call(`${gateway.api}/run/${key.run_id}`, bed.tenant.key);
    expect(run.body.webhook_status).toBe('running');
  });

  it('is stored with the user of the request, in its trace', async () => {
    const key = await anEndedRun(bed, gateway);
    await redeliver(key);
    const subject = `runs.${key.org_id}.${key.run_id}.webhook.redelivery_requested.gateway.2`;
    const stored = await bed.log.jsm.streams.getMessage('RUNS', { last_by_subj: subject });
    expect(stored?.json()).toMatchObject({
      type: 'WebhookRedeliveryRequested',
      round: 2,
      writer: { service: 'gateway' },
      traceparent: expect.stringMatching(/^00-/),
      data: { user_id: bed.tenant.user_id },
    });
  });

  it.each(['retrying', 'deferred'] as const)('is allowed while a delivery is %s', async (state) => {
    const key = await anEndedRun(bed, gateway);
    await appendWebhook(bed.log, webhookStarted(key));
    await recordDeliveryState(bed.log, key, aState({ state }));
    expect((await redeliver(key)).body.round).toBe(2);
    const { body } = await call(`${gateway.api}/run/${key.run_id}/deliveries`, bed.tenant.key);
    expect(body).toMatchObject({ webhook_status: 'running', round: 2, state: null });
  });

  it('is refused for a run without a webhook, and for one that has not ended', async () => {
    const without = await redeliver(await anEndedRun(bed, gateway, { webhook: null }));
    expect([without.status, without.body.detail]).toEqual([409, expect.stringContaining('no webhook')]);
    const early = await redeliver(await queueSample(gateway, bed.tenant, { webhook: HOOK }));
    expect([early.status, early.body.detail]).toEqual([409, expect.stringContaining('is sent at the end')]);
  });

  it('is refused at the limit of rounds', async () => {
    const key = await anEndedRun(bed, gateway);
    const rounds = Array.from({ length: MAX_ROUNDS - 1 }, (_, index) => redeliveryRequested(key, index + 2));
    await appendWebhook(bed.log, ...rounds);
    const { status, body } = await redeliver(key);
    expect([status, body.detail]).toEqual([409, expect.stringContaining('49 times')]);
    expect(body.code).toBe('redeliveries_used_up');
  });

  it("is refused when the run's events are no longer in the log", async () => {
    const views = sqliteViews();
    const key = aRun(bed.tenant.org_id);
    const run = folded(queued(key, { webhook: HOOK }), assigned(key), started(key), succeeded(key));
    await views.save([aView(4, run)]);
    const { status, body } = await redeliver(key, await bed.gateway({ views }));
    expect([status, body.detail]).toEqual([409, expect.stringContaining('have expired from the log')]);
    expect(body.code).toBe('run_events_expired');
  });

  it('is refused when the first facts of its notifications are gone, although its end has the whole run', async () => {
    const key = await queueSample(gateway, bed.tenant, { webhook: HOOK });
    await appendWebhook(bed.log, webhookStarted(key, 'intermediate'));
    await untilOlder(bed.log);
    const end = await appendAll(bed.log, expired(key, { request: runRequest({ webhook: HOOK }) }));
    await appendWebhook(bed.log, webhookGivenUp(key));
    await forgetBefore(bed.log, end);
    const { status, body } = await redeliver(key);
    expect([status, body.detail]).toEqual([409, expect.stringContaining('have expired from the log')]);
  });

  it('answers 404 for a run of another organisation, and needs the scope to write', async () => {
    const other = await bed.newTenant();
    const theirs = await anEndedRun(bed, gateway, { of: other });
    for (const run_id of [theirs.run_id, newUuid()]) {
      const { status, body } = await post(`${gateway.api}/run/${run_id}/redeliver`, bed.tenant.key);
      expect([status, body]).toEqual([404, aRefusal('run_not_found', 'Run not found')]);
    }
    const reader = await aKey(bed.log, other, { scopes: ['runs:read'] });
    expect((await redeliver(theirs, gateway, reader)).status).toBe(403);
    expect(await webhookOf(theirs)).toBeUndefined();
    expect((await post(`${gateway.api}/run/1/redeliver`, bed.tenant.key)).status).toBe(422);
  });

  it('is a 503 when the webhook facts contradict each other; the run is shown', async () => {
    const key = await anEndedRun(bed, gateway);
    // More than any run has, none of them fenced: nobody reads them all.
    for (let number = 0; number < 510; number += 1) {
      await bed.log.js.publish(`runs.${key.org_id}.${key.run_id}.webhook.odd.notifier.${number}`, '{}');
    }
    const { status, headers, body } = await redeliver(key);
    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
    expect(body.detail).toContain('contradict each other');
    expect(body.code).toBe('run_unreadable');
    const run = await call(`${gateway.api}/run/${key.run_id}`, bed.tenant.key);
    expect([run.status, run.body.status]).toEqual([200, 'success']);
  });

  it('decides on what was stored before it, in races with others and the notifier', async () => {
    const second = await bed.gateway();
    const key = await anEndedRun(bed, gateway);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => redeliver(key, index % 2 === 0 ? gateway : second)),
    );
    const rounds = answers.map(({ body }) => body.round).sort((a, b) => a - b);
    expect(rounds).toEqual([2, 3, 4, 5, 6, 7]);
    expect(await webhookOf(key)).toMatchObject({ status: 'running', round: 7 });

    const raced = await anEndedRun(bed, gateway);
    const [answer, delivered] = await Promise.allSettled([
      redeliver(raced),
      appendWebhook(bed.log, webhookDelivered(raced)),
    ]);
    if (answer.status !== 'fulfilled') throw new Error('the redelivery failed');
    expect(answer.value.body.round).toBe(2);
    expect(['fulfilled', 'rejected']).toContain(delivered.status);
    expect(await webhookOf(raced)).toMatchObject({ status: 'running', round: 2 });
  });
});

import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { webhookDelivered, webhookGivenUp } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { clock } from '../../../src/kit.ts';
import { statusOf } from '../../../src/views/stored-run.decide.ts';
import type { RunViews } from '../../../src/views/run-views.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import { currentRun } from '../../../src/runs/facts/current-run.ts';
import { latestWebhooks } from '../../../src/runs/facts/latest-webhooks.ts';
import { redeliverRun } from '../../../src/runs/redeliver.ts';
import { openTestBedOnOwnBroker, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { aView, folded, foldedWebhook } from '../../fixtures/runs/folded-runs.ts';
import { anEndedRun, HOOK } from '../../fixtures/runs/notified-runs.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { viewOf } from '../../fixtures/views/stale-views.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';

/** As a gateway reads and redelivers, behind the API keys: those cannot be checked for longer than a moment without the log. */
const readerOf = ({ log }: TestBed, views: RunViews) => {
  const kit = aKit({ log, views });
  const webhooks = latestWebhooks();
  const fresh = freshViews({ log, views, timeoutMs: 5_000, clock });
  const archived = async () => undefined;
  const current = currentRun(kit, {
    archived,
    find: (key) => views.find(key),
    fresh,
    webhooks,
  });
  const redeliver = redeliverRun(kit, current, webhooks);
  const webhookStatus = async (key: RunKey) => {
    const read = await current(key);
    return read.kind === 'found' ? [read.run.status, statusOf(read.webhook.state)] : read.kind;
  };
  return { redeliver, webhookStatus };
};

const loseTheLog = async ({ nats, log }: Awaited<ReturnType<typeof openTestBedOnOwnBroker>>) => {
  await nats.kill9();
  await waitFor('the gateway to miss the log', () => !log.connected());
};

it('a run is shown from its view when the log no longer has it, or is unavailable', async () => {
  await using bed = await openTestBedOnOwnBroker();
  const views = sqliteViews();
  const { webhookStatus } = readerOf(bed, views);
  const gone = aRun(bed.tenant.org_id);
  const run = folded(queued(gone, { webhook: HOOK }), assigned(gone), started(gone), succeeded(gone));
  await views.save([aView(4, run, foldedWebhook(5, webhookDelivered(gone)))]);
  expect(await webhookStatus(gone)).toEqual(['success', 'success']);
  await loseTheLog(bed);
  expect(await webhookStatus(gone)).toEqual(['success', 'success']);
});

it('its webhook_status never goes back when the log becomes unavailable and the view is behind an earlier response', async () => {
  await using bed = await openTestBedOnOwnBroker();
  const gateway = await bed.gateway();
  const views = sqliteViews();
  const { redeliver, webhookStatus } = readerOf(bed, views);
  const [ended, again] = [await anEndedRun(bed, gateway), await anEndedRun(bed, gateway)];
  await appendWebhook(bed.log, webhookGivenUp(again));
  await views.save([await viewOf(bed, ended), await viewOf(bed, again)]);
  await appendWebhook(bed.log, webhookDelivered(ended));
  expect(await webhookStatus(ended)).toEqual(['success', 'success']);
  const by = { user_id: bed.tenant.user_id, traceparent: null };
  expect(await redeliver(again, by)).toMatchObject({ kind: 'requested' });
  await loseTheLog(bed);
  expect(await webhookStatus(ended)).toEqual(['success', 'success']);
  expect(await webhookStatus(again)).toEqual(['success', 'running']);
});

import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, outputsDeleted, queued, started, succeeded } from '@runledger/testing/run-events';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { expect, it } from 'vitest';
import { clock } from '../../../src/kit.ts';
import type { RunView } from '../../../src/views/run-view.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import { currentRun } from '../../../src/runs/facts/current-run.ts';
import { latestWebhooks } from '../../../src/runs/facts/latest-webhooks.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../../fixtures/runs/forgotten-log.ts';
import { HOOK } from '../../fixtures/runs/notified-runs.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { viewOf } from '../../fixtures/views/stale-views.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';

/** As a gateway reads whose database was put back to an older copy: the archive has what the log has forgotten. */
const shownBy = async (log: EventLog, key: RunKey, stale: RunView, archived: RunView) => {
  const views = sqliteViews();
  await views.save([stale]);
  const current = currentRun(aKit({ log, views }), {
    archived: async () => archived,
    find: (one) => views.find(one),
    fresh: freshViews({ log, views, timeoutMs: 5_000, clock }),
    webhooks: latestWebhooks(),
  });
  const read = await current(key);
  return read.kind === 'found' ? read.run.status : read.kind;
};

it.each([
  ['whose outputs are deleted', (log: EventLog, key: RunKey) => appendAll(log, outputsDeleted(key))],
  ['that is notified', (log: EventLog, key: RunKey) => appendWebhook(log, webhookDelivered(key))],
])('an ended run %s when the log has forgotten it is never shown as queued', async (_name, append) => {
  await using open = await aLog();
  const { log } = open;
  const key = aRun();
  await appendAll(log, queued(key, { webhook: HOOK }));
  const stale = await viewOf({ log }, key);
  await appendAll(log, assigned(key), started(key), succeeded(key, [anOutput]));
  const ended = await viewOf({ log }, key);
  await forgetAll(log);
  await append(log, key);
  expect(await shownBy(log, key, stale, ended)).toBe('success');
});

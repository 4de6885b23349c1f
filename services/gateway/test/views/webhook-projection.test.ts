import { NO_RUNS } from '@runledger/contracts/fold/log-capacity';
import { setPosition } from '../fixtures/views/set-position.ts';
import { webhookEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { head } from '@runledger/event-log/read/read-run';
import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { webhookDelivered, webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';
import type { StoredView } from '../../src/views/run-view.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { aLog } from '../fixtures/gateway/a-log.ts';
import { project } from '../fixtures/views/a-projection.ts';
import { appendAll, appendWebhook } from '../fixtures/runs/appended-facts.ts';

const webhook = 'https://hooks.example:8443/done?token=secret';

const anEndedRun = async (log: EventLog, key = aRun()): Promise<RunKey> => {
  await appendAll(log, queued(key, { webhook }), assigned(key), started(key), succeeded(key));
  return key;
};
const seen = async (views: RunViews, key: RunKey, status: string): Promise<StoredView> => {
  const isThere = async () => (await views.find(key))?.webhook.state?.status === status;
  await waitFor(`the view to say ${status}`, isThere);
  const view = await views.find(key);
  if (!view) throw new Error('the view is missing');
  return view;
};

describe('the state of the notifications', () => {
  it('is in the view as soon as it is in the log, while the run continues', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    open.use(project(log, views));
    const key = aRun();
    await appendAll(log, queued(key, { webhook }), assigned(key));
    const first = await appendWebhook(log, webhookStarted(key, 'intermediate'));
    expect((await seen(views, key, 'running')).webhook.head).toBe(first);
    await appendAll(log, started(key), succeeded(key));
    const last = await appendWebhook(log, webhookDelivered(key));
    const view = await seen(views, key, 'success');
    expect([view.run.status, view.head, view.webhook.head]).toEqual(['success', last - 1, last]);
  });

  it('is read with its run when the views do not have the run', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const key = await anEndedRun(log);
    const last = await log.jsm.streams.getMessage('RUNS', { seq: await head(log, key) });
    const { created } = await log.jsm.streams.info('RUNS');
    const event_id = last?.json<{ event_id: string }>().event_id ?? '';
    await setPosition(views, {
      stream_created: created,
      derivation: 1,
      derived_from: created,
      sequence: last?.seq ?? 0,
      event_id,
      counts: NO_RUNS,
      missed: null,
    });
    open.use(project(log, views));
    await appendWebhook(log, webhookStarted(key), webhookGivenUp(key));
    expect((await seen(views, key, 'failed')).run.status).toBe('success');
  });

  it('is ignored without a warning when the run has expired from log and views', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    const [expired, present] = [aRun(), await anEndedRun(log)];
    await append(log, webhookStarted(expired), 0);
    open.use(project(log, views));
    await appendWebhook(log, webhookStarted(present));
    await seen(views, present, 'running');
    expect(await views.find(expired)).toBeUndefined();
    expect(await listDeadLetters(log)).toEqual([]);
  });

  it('ignores a forged fact, stores it as a dead letter, and continues', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = sqliteViews();
    open.use(project(log, views));
    const key = await anEndedRun(log);
    const forged = webhookDelivered(key);
    const { seq } = await log.js.publish(webhookEventSubject(forged), JSON.stringify(forged));
    await appendWebhook(log, webhookStarted(key));
    expect((await seen(views, key, 'running')).webhook.head).toBe(seq + 1);
    const letters = await listDeadLetters(log);
    expect(letters.map(({ consumer, sequence }) => [consumer, sequence])).toEqual([['projection', seq]]);
  });
});

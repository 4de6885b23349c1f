import { webhookEventSubject, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { EMPTY_WEBHOOK_HISTORY } from '@runledger/contracts/fold/webhook-chain';
import { appendWebhook } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { head } from '@runledger/event-log/read/read-run';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/events/run-events';
import { waitFor } from '@runledger/testing/time/wait-for';
import { webhookDelivered, webhookGivenUp, webhookStarted } from '@runledger/testing/events/webhook-events';
import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { memoryRunViews } from '../../src/projection/memory/memory-run-views.ts';
import { openMongoRunViews } from '../../src/projection/mongo/mongo-run-views.ts';
import type { RunView, RunViews } from '../../src/projection/run-views.ts';
import { aLog } from '../fixtures/gateway/a-log.ts';
import { project } from '../fixtures/views/a-projection.ts';
import { appendAll, tellWebhook } from '../fixtures/runs/appended-facts.ts';
import { aView, folded } from '../fixtures/runs/folded-runs.ts';
import { FOR_EVER, mongoUrl } from '../fixtures/views/mongo-views.ts';

const webhook = 'https://hooks.example:8443/done?token=secret';

const anEndedRun = async (log: EventLog, key = aRun()): Promise<RunKey> => {
  await appendAll(log, queued(key, { webhook }), assigned(key), started(key), succeeded(key));
  return key;
};
const seen = async (views: RunViews, key: RunKey, status: string): Promise<RunView> => {
  const isThere = async () => (await views.find(key))?.webhook.webhook?.status === status;
  await waitFor(`the view to say ${status}`, isThere);
  const view = await views.find(key);
  if (!view) throw new Error('the view is gone');
  return view;
};

describe('what became of the notifications', () => {
  it('is in the view as soon as it is told, whatever the run does beside it', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = memoryRunViews();
    open.use(project(log, views));
    const key = aRun();
    await appendAll(log, queued(key, { webhook }), assigned(key));
    const first = await tellWebhook(log, webhookStarted(key, 'intermediate'));
    expect((await seen(views, key, 'running')).webhook.head).toBe(first);
    await appendAll(log, started(key), succeeded(key));
    const last = await tellWebhook(log, webhookDelivered(key));
    const view = await seen(views, key, 'success');
    expect([view.run.status, view.head, view.webhook.head]).toEqual(['success', last - 1, last]);
  });

  it('is read with its run where the views do not have the run', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = memoryRunViews();
    const key = await anEndedRun(log);
    const last = await log.jsm.streams.getMessage('RUNS', { seq: await head(log, key) });
    const { created } = await log.jsm.streams.info('RUNS');
    await views.resetTo(created);
    const event_id = last?.json<{ event_id: string }>().event_id ?? '';
    await views.savePosition({ stream_created: created, sequence: last?.seq ?? 0, event_id });
    open.use(project(log, views));
    await tellWebhook(log, webhookStarted(key), webhookGivenUp(key));
    expect((await seen(views, key, 'failed')).run.status).toBe('success');
  });

  it('is left out where the run has expired from log and views, and nobody is bothered with it', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = memoryRunViews();
    const [gone, there] = [aRun(), await anEndedRun(log)];
    await appendWebhook(log, webhookStarted(gone), 0);
    open.use(project(log, views));
    await tellWebhook(log, webhookStarted(there));
    await seen(views, there, 'running');
    expect(await views.find(gone)).toBeUndefined();
    expect(await listDeadLetters(log)).toEqual([]);
  });

  it('takes nothing forged, which is set aside, and goes on behind it', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const views = memoryRunViews();
    open.use(project(log, views));
    const key = await anEndedRun(log);
    const forged = webhookDelivered(key);
    const { seq } = await log.js.publish(webhookEventSubject(forged), JSON.stringify(forged));
    await tellWebhook(log, webhookStarted(key));
    expect((await seen(views, key, 'running')).webhook.head).toBe(seq + 1);
    const parked = await listDeadLetters(log);
    expect(parked.map(({ consumer, sequence }) => [consumer, sequence])).toEqual([['projection', seq]]);
  });
});

describeWithMongo('views of the release before', () => {
  it('are read as knowing nothing of webhooks, and derived anew from the log; what it does not hold is kept', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const url = mongoUrl(open.use(await testMongo()));
    const client = new MongoClient(url);
    open.defer(() => client.close());
    const views = open.use(openMongoRunViews({ url, retentionDays: FOR_EVER }));

    const key = await anEndedRun(log);
    await tellWebhook(log, webhookStarted(key), webhookGivenUp(key));
    const gone = folded(queued(aRun(key.org_id), { webhook }));
    const before = (run: RunView['run'], at: number) => ({
      _id: run.run_id as string,
      org_id: run.org_id,
      head: at,
      number: run.number,
      status: run.status,
      created_at: new Date(run.created_at),
      run: JSON.stringify(run),
    });
    const run = folded(queued(key, { webhook }), assigned(key), started(key), succeeded(key));
    const documents = client.db().collection<ReturnType<typeof before>>('run_views');
    await documents.insertMany([before(run, 4), before(gone, 900)]);
    const { created } = await log.jsm.streams.info('RUNS');
    const last = await log.jsm.streams.getMessage('RUNS', { seq: 6 });
    const event_id = last?.json<{ event_id: string }>().event_id;
    const positions = client.db().collection<{ _id: string; sequence: number }>('projections');
    const theirs = { _id: 'run_views', stream_created: created, sequence: 6, event_id };
    await positions.insertOne(theirs);

    expect(await views.find(key)).toEqual(aView(0, run));
    expect(await views.position()).toBeUndefined();
    {
      await using projection = project(log, views);
      await seen(views, key, 'failed');
      await waitFor('the position to be stored', async () => (await views.position())?.sequence === 6);
      expect(projection.state()).toEqual({ ok: true });
    }
    const { items } = await views.listWebhooks({ org_id: key.org_id, statuses: ['failed'], limit: 10 });
    expect(items).toMatchObject([{ run_id: key.run_id, host: 'hooks.example:8443', url: webhook }]);
    expect(await views.find(gone)).toEqual(aView(0, gone));
    expect(await positions.countDocuments({ _id: 'run_views' })).toBe(0);

    // That release projects once more: it takes the webhook facts out of what it writes.
    await documents.replaceOne({ _id: key.run_id }, before(run, 4));
    await positions.insertOne(theirs);
    expect((await views.find(key))?.webhook).toEqual(EMPTY_WEBHOOK_HISTORY);
    open.use(project(log, views));
    await seen(views, key, 'failed');
  });
});

import type { EventLog } from '@runledger/event-log/connect/event-log';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { requestRedrive } from '@runledger/request-reply/redrive';
import { aRun, assigned, failed, queued } from '@runledger/testing/run-events';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';
import { redriveView } from '../../src/views/run-projection.ts';
import { ViewsUnavailable } from '../../src/views/run-views.ts';
import { aLog } from '../fixtures/gateway/a-log.ts';
import { project } from '../fixtures/views/a-projection.ts';
import { appendAll, appendWebhook } from '../fixtures/runs/appended-facts.ts';

const redriven = (log: EventLog, sequence: number, views = sqliteViews()): ReturnType<typeof redriveView> =>
  redriveView({ log, views }, { stream: 'RUNS', sequence });

describe('a dead letter that the gateway redrives', () => {
  it('updates the view of its run, with every fact in the log', async () => {
    await using test = await aLog();
    const { log } = test;
    const key = aRun();
    const head = await appendAll(log, queued(key, { webhook: 'https://a.example/' }), assigned(key));
    await appendWebhook(log, webhookStarted(key, 'intermediate'));
    const views = sqliteViews();
    for (const sequence of [1, 2, 3]) {
      expect(await redriven(log, sequence, views)).toEqual({
        outcome: 'taken',
        why: `The view of run ${key.run_id} was made again from the log: its status is started.`,
      });
    }
    expect(await views.find(key)).toMatchObject({ head, run: { status: 'started' }, webhook: { head: 3 } });
  });

  it('is redriven on request, while the projection runs', async () => {
    await using open = new AsyncDisposableStack();
    const test = open.use(await aLog());
    const key = aRun();
    await appendAll(test.log, queued(key));
    const views = sqliteViews();
    const own = await test.open();
    const projection = project(own, views);
    await own.nc.flush();
    const ask = (): ReturnType<typeof requestRedrive> =>
      requestRedrive(test.log, 'gateway', { stream: 'RUNS', sequence: 1 }, 10_000);
    expect(await ask()).toMatchObject({ outcome: 'taken' });
    expect((await views.find(key))?.run.status).toBe('queued');
    await projection[Symbol.asyncDispose]();
    await own.nc.flush();
    expect(await ask()).toBeUndefined();
  });

  it('is refused while it belongs to no run', async () => {
    await using test = await aLog();
    const { log } = test;
    const key = aRun();
    await appendAll(log, queued(key));
    const forged = failed(key);
    await log.js.publish(runEventSubject(forged), JSON.stringify(forged));
    await log.js.publish('runs.nobody.nothing.life.queued.gateway.0.none', '"nonsense"');
    const stranger = queued(aRun());
    await log.js.publish(runEventSubject(stranger), JSON.stringify(stranger));
    const whys: (string | undefined)[] = [];
    for (const sequence of [2, 3, 4, 99]) {
      const answer = await redriven(log, sequence);
      expect(answer.outcome).toBe('refused');
      whys.push(answer.why);
    }
    expect(whys).toEqual([
      expect.stringContaining('It is still refused'),
      expect.stringContaining('is not the subject of a fact of a run'),
      expect.stringContaining('no message under its subjects is accepted'),
      expect.stringContaining('Message 99 is no longer in RUNS'),
    ]);
    const ofFleet = redriveView({ log, views: sqliteViews() }, { stream: 'FLEET', sequence: 1 });
    expect(await ofFleet).toMatchObject({ outcome: 'refused' });
  });

  it('is refused while only a later release can read its run, and while the views are unavailable', async () => {
    await using test = await aLog();
    const { log } = test;
    const [later, key] = [aRun(), aRun()];
    await appendAll(log, { ...queued(later), version: 2 }, queued(key));
    expect((await redriven(log, 1)).why).toContain('RunQueued in version 2');
    const unavailable = {
      ...sqliteViews(),
      save: () => Promise.reject(new ViewsUnavailable('MongoDB is unavailable')),
    };
    expect((await redriven(log, 2, unavailable)).why).toContain('MongoDB is unavailable');
  });
});

import { isEnded } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, started, succeeded } from '@runledger/testing/run-events';
import { readToEnd } from '../subscribe/an-event-source.ts';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { call, post } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../../fixtures/runs/forgotten-log.ts';
import { queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { deriveAgain } from '../../fixtures/views/derive-again.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { overEachViews } from '../../fixtures/views/over-each-views.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

overEachViews('deleting', (here) => {
  const request = (method: 'DELETE' | 'GET', path: string, key = here.tenant.key) =>
    call(`${here.gateway.api}${path}`, key, { method });
  const deleteRun = (run: RunKey, key = here.tenant.key) => request('DELETE', `/run/${run.run_id}`, key);
  const deleteOutputs = (run: RunKey, key = here.tenant.key) =>
    request('DELETE', `/run/${run.run_id}/outputs`, key);
  const shown = async (run: RunKey) => (await request('GET', `/run/${run.run_id}`)).body;
  const statusOf = async (run: RunKey) => (await request('GET', `/run/${run.run_id}`)).status;
  const listed = async (): Promise<string[]> => {
    const { body } = await request('GET', '/runs');
    return body.runs.map(({ id }: { readonly id: string }) => id);
  };
  const endedRun = async (webhook: string | null = null): Promise<RunKey> => {
    const key = await queueSample(here.gateway, here.tenant, { webhook });
    await appendAll(here.bed.log, assigned(key), started(key), succeeded(key, [anOutput]));
    return key;
  };

  it('a run makes it unknown everywhere, at once, to reads and to all requests', async () => {
    const run = await endedRun();
    const other = await endedRun();
    expect(await deleteRun(run)).toMatchObject({
      status: 200,
      body: { run_id: run.run_id, outcome: 'deleted' },
    });
    for (const path of ['', '?wait=1', '/events', '/deliveries', '/waiting']) {
      expect((await request('GET', `/run/${run.run_id}${path}`)).status, path).toBe(404);
    }
    for (const path of ['cancel', 'rerun', 'redeliver']) {
      const { status } = await post(`${here.gateway.api}/run/${run.run_id}/${path}`, here.tenant.key);
      expect(status, path).toBe(404);
    }
    expect((await deleteRun(run)).status).toBe(404);
    expect((await deleteOutputs(run)).status).toBe(404);
    expect(await listed()).toEqual([other.run_id]);
  });

  it('outputs leaves the run, without them, and says so', async () => {
    const run = await endedRun();
    const before = await shown(run);
    expect(await deleteOutputs(run)).toMatchObject({ status: 200, body: { outcome: 'deleted' } });
    expect(before.outputs).toHaveLength(1);
    const after = await shown(run);
    expect(after).toEqual({
      ...before,
      updated_at: after.updated_at,
      outputs: [],
      missing_members: [{ member: 'outputs', reason: 'deleted' }],
    });
    const stream = await readToEnd(here.gateway.eventsOf(run), here.tenant.key);
    const ended = stream.facts().filter(({ data }) => data.finished);
    expect(ended.map(({ data }) => [data.outputs, data.missing_members])).toEqual(
      ended.map(() => [[], after.missing_members]),
    );
    expect(await deleteOutputs(run)).toMatchObject({ status: 200, body: { outcome: 'already_deleted' } });
    expect((await deleteRun(run)).status).toBe(200);
    expect(await statusOf(run)).toBe(404);
  });

  it('waits for the end of the run, and for its final notification', async () => {
    const queued = await queueSample(here.gateway, here.tenant);
    expect(await deleteRun(queued)).toMatchObject({ status: 409 });
    expect((await deleteOutputs(queued)).body).toMatchObject({
      detail: expect.stringContaining('cancel it first'),
    });
    const notified = await endedRun('https://hooks.example/done');
    expect((await deleteRun(notified)).body).toMatchObject({
      detail: expect.stringContaining('webhook_status'),
    });
    await appendWebhook(here.bed.log, webhookDelivered(notified));
    expect((await deleteRun(notified)).status).toBe(200);
  });

  it('is only possible for the own organisation', async () => {
    const run = await endedRun();
    const stranger = await here.bed.newTenant();
    expect((await deleteRun(run, stranger.key)).status).toBe(404);
    expect((await deleteOutputs(run, stranger.key)).status).toBe(404);
    expect(await statusOf(run)).toBe(200);
    expect((await deleteRun(aRun(run.org_id))).body.code).toBe('run_not_found');
  });

  it('tells a deleted run from an unknown one, to its own organisation only', async () => {
    const run = await endedRun();
    const stranger = await here.bed.newTenant();
    await deleteRun(run);
    const answers = [
      await deleteRun(run),
      await deleteOutputs(run),
      await request('GET', `/run/${run.run_id}`),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [404, 'run_deleted']),
    );
    const unknown = aRefusal('run_not_found', 'Run not found');
    for (const foreign of [
      await deleteRun(run, stranger.key),
      await request('GET', `/run/${run.run_id}`, stranger.key),
    ]) {
      expect([foreign.status, foreign.body]).toEqual([404, unknown]);
    }
  });

  it('stores one fact for many requests at once', async () => {
    const run = await endedRun();
    const answers = await Promise.all(Array.from({ length: 5 }, () => deleteRun(run)));
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([200, 404, 404, 404, 404]);
    const read = await readRun(here.bed.log, run);
    expect(read).toMatchObject({ kind: 'deleted', refused: [] });
  });

  it('a run keeps its idempotency key from queueing another one', async () => {
    const queue = () => queueKeyed(here.gateway, here.tenant, 'order-7');
    const run = runIn(here.tenant, await queue());
    await appendAll(here.bed.log, assigned(run), started(run), succeeded(run));
    await deleteRun(run);
    const again = await queue();
    expect(again).toMatchObject({ status: 409, body: { detail: expect.stringContaining('was deleted') } });
  });

  it('works for runs that are older than the log, also when the views are derived from it again', async () => {
    const [run, other] = [await endedRun(), await endedRun()];
    await waitFor('their views', async () => (await listed()).length === 2);
    await forgetAll(here.bed.log);
    await deriveAgain(here.bed.log, here.gateway.views);
    expect((await deleteOutputs(other)).status).toBe(200);
    expect(await shown(other)).toMatchObject({ status: 'success', outputs: [] });
    expect((await deleteRun(run)).status).toBe(200);
    expect(await statusOf(run)).toBe(404);
    expect(await listed()).toEqual([other.run_id]);
    await waitFor('the view of the other one', async () => {
      const view = await here.gateway.views.find(other);
      return view && isEnded(view.run) && view.run.deleted_outputs;
    });
    expect(await shown(other)).toMatchObject({ status: 'success', outputs: [] });
  });

  it('is final in lists of views that are behind', async () => {
    const [run, other, kept] = [await endedRun(), await endedRun(), await endedRun()];
    await waitFor('their views', async () => (await listed()).length === 3);
    const behind = sqliteViews();
    const keys = [run, other, kept];
    await behind.save(await here.gateway.views.load(keys));
    const gateway = await here.bed.gateway({ views: behind });
    await deleteRun(run);
    await deleteOutputs(other);
    const { body } = await call(`${gateway.api}/runs`, here.tenant.key);
    expect(body.runs).toMatchObject([
      { id: kept.run_id, outputs: [expect.anything()] },
      { id: other.run_id, outputs: [] },
    ]);
  });
});

import type { RunKey } from '@runledger/contracts/events/subjects';
import { reportProgress } from '@runledger/event-log/streams/activity';
import {
  assigned,
  cancelRequested,
  deleted,
  failed,
  EXECUTOR,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { webhookGivenUp } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { overEachViews } from '../../fixtures/views/over-each-views.ts';
import { unavailableViews } from '../../fixtures/views/mongo-views.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { HOOK } from '../../fixtures/runs/notified-runs.ts';

overEachViews('runs', (here) => {
  const list = (query = '', key = here.tenant.key) => call(`${here.gateway.api}/runs${query}`, key);
  const idsOf = ({ status, body }: Awaited<ReturnType<typeof list>>): string[] => {
    if (status !== 200) throw new Error(`it answered ${status}: ${JSON.stringify(body)}`);
    return body.runs.map(({ id }: { id: string }) => id);
  };
  const queue = (fields: object = {}, of = here.tenant) => queueSample(here.gateway, of, fields);
  const show = async ({ run_id }: RunKey) =>
    (await call(`${here.gateway.api}/run/${run_id}`, here.tenant.key)).body;

  const count = async (query = '', key = here.tenant.key) =>
    (await call(`${here.gateway.api}/runs/counts${query}`, key)).body;
  const NONE = {
    queued: 0,
    started: 0,
    running: 0,
    uploading: 0,
    success: 0,
    failed: 0,
    timeout: 0,
    cancelled: 0,
  };

  it('are empty in the beginning', async () => {
    expect((await list()).body).toEqual({ runs: [], next_cursor: null });
    expect(await count()).toEqual({ counts: NONE, total: 0, complete: true });
  });

  it('are listed newest first, right after their 200, as a GET shows them', async () => {
    const waiting = await queue();
    const running = await queue();
    await appendAll(here.bed.log, assigned(running), started(running));
    const report = { progress: 0.4, live_status: 'row 200/500', time: new Date().toISOString() };
    reportProgress(here.bed.log, running, 1, EXECUTOR, report);
    await waitFor('the report', async () => (await show(running)).progress === 0.4);
    const ended = await queue({ webhook: HOOK });
    await appendAll(here.bed.log, assigned(ended), started(ended), succeeded(ended));
    await appendWebhook(here.bed.log, webhookGivenUp(ended));
    const { body } = await list();
    expect(body).toEqual({
      runs: [await show(ended), await show(running), await show(waiting)],
      next_cursor: null,
    });
    expect(body.runs).toMatchObject([
      { status: 'success', webhook_status: 'failed' },
      { status: 'running', progress: 0.4, live_status: 'row 200/500' },
      { status: 'queued', workflow_inputs: null, workflow_api: null },
    ]);
  });

  it('show inputs and workflows when the request includes them', async () => {
    await queue({ inputs: { a: 1 } });
    const { body } = await list('?include=inputs,workflow_api');
    expect(body.runs).toMatchObject([{ workflow_inputs: { a: 1 }, workflow_api: { kind: 'fractal' } }]);
  });

  it('come in pages without gaps or repeats, while more runs are queued', async () => {
    const runs: string[] = [];
    for (let i = 0; i < 7; i += 1) runs.push((await queue()).run_id);
    const seen: string[] = [];
    let cursor: string | null = '';
    for (; cursor !== null; await queue()) {
      const page = await list(`?limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...idsOf(page));
      cursor = page.body.next_cursor;
    }
    expect(seen).toEqual(runs.toReversed());
  });

  it('belong to the caller’s organisation, also with the cursor of another one', async () => {
    const other = await here.bed.newTenant();
    const mine = [await queue(), await queue()];
    const theirs = [await queue({}, other), await queue({}, other)];
    const page = await list('?limit=1', other.key);
    expect(idsOf(page)).toEqual([theirs[1]?.run_id]);
    expect(idsOf(await list(`?cursor=${page.body.next_cursor}`))).toEqual(
      mine.map(({ run_id }) => run_id).toReversed(),
    );
    expect(idsOf(await list(`?deployment_id=${other.deployment.id}`))).toEqual([]);
    expect((await count()).counts).toEqual({ ...NONE, queued: 2 });
  });

  it('are searched by id, tags, inputs that readers see, error and name of the deployment', async () => {
    const other = await here.bed.newTenant();
    const inputs = { prompt: 'A red\n FOX, 100%' };
    const [found, theirs] = [await queue({ inputs }), await queue({ inputs }, other)];
    const broken = await queue();
    const end = failed(broken);
    await appendAll(here.bed.log, assigned(broken), started(broken), end);
    for (const [text, ids] of [
      ['red fox, 100%', [found.run_id]],
      ['RED', [found.run_id]],
      ['r_d', []],
      [end.data.error.message.toUpperCase(), [broken.run_id]],
      [found.run_id.toUpperCase(), [found.run_id]],
      [theirs.run_id, []],
    ] as const) {
      const { body } = await list(`?search=${encodeURIComponent(text)}`);
      expect([text, body.runs.map(({ id }: { id: string }) => id)]).toEqual([text, ids]);
      expect(body).toMatchObject({ searched_to: null, next_cursor: null });
    }
    const page = await list('?search=sample&limit=1');
    expect(page.body.searched_to).toBe(page.body.runs[0].created_at);
    const at = (await show(broken)).created_at;
    const message = encodeURIComponent(end.data.error.message);
    expect(idsOf(await list(`?search=${message}&at=${at}`))).toEqual([]);
    expect(idsOf(await list(`?search=red&at=${at}`))).toEqual([found.run_id]);
  });

  it('are shown over time, of the caller’s organisation and without a deleted one', async () => {
    const other = await here.bed.newTenant();
    await queue({}, other);
    const [waiting, gone, run, cancelled] = [await queue(), await queue(), await queue(), await queue()];
    await appendAll(here.bed.log, cancelRequested(cancelled), cancelRequested(gone), deleted(gone));
    await appendAll(here.bed.log, assigned(run), started(run));
    const { status, body } = await call(`${here.gateway.api}/runs/activity`, here.tenant.key);
    expect(status).toBe(200);
    const sums = Object.entries(body).flatMap(([name, list]) =>
      Array.isArray(list) && name !== 'times' ? [[name, list.reduce((sum, one) => sum + one, 0)]] : [],
    );
    expect(Object.fromEntries(sums)).toMatchObject({ queued: 3, started: 1, succeeded: 0, cancelled: 1 });
    expect([body.waiting.at(-1), body.running.at(-1), body.step_s]).toEqual([1, 1, 60]);
    expect([body.times.length, body.times[0]]).toEqual([body.queued.length, body.since]);
    expect((await show(waiting)).status).toBe('queued');
  });

  it('are counted without a deleted one', async () => {
    const [kept, gone] = [await queue(), await queue()];
    await appendAll(here.bed.log, cancelRequested(kept), cancelRequested(gone), deleted(gone));
    expect((await count()).counts).toEqual({ ...NONE, cancelled: 1 });
  });
});

describe('a list of runs', () => {
  let bed: TestBed;
  let gateway: TestGateway;
  beforeAll(async () => {
    bed = await openTestBed();
    gateway = await bed.gateway({ projecting: true });
  });
  afterAll(() => bed[Symbol.asyncDispose]());
  const list = (query: string, key = bed.tenant.key) => call(`${gateway.api}/runs${query}`, key);

  it.each([
    ['status=done', 'status', 'enum'],
    ['status=', 'status', 'enum'],
    ['deployment_id=x', 'deployment_id', 'uuid_parsing'],
    ['workflow_id=', 'workflow_id', 'uuid_parsing'],
    ['schedule_id=nightly', 'schedule_id', 'uuid_parsing'],
    ['gpu=RTX+4090', 'gpu', 'string_pattern_mismatch'],
    ['origin=cron', 'origin', 'enum'],
    ['tag=two+words', 'tag', 'string_pattern_mismatch'],
    ['tag=', 'tag', 'string_pattern_mismatch'],
    ['search=', 'search', 'string_pattern_mismatch'],
    ['search=+%09%00', 'search', 'string_pattern_mismatch'],
    [`search=${'x'.repeat(201)}`, 'search', 'string_pattern_mismatch'],
    ['created_after=yesterday', 'created_after', 'datetime_parsing'],
    ['limit=0', 'limit', 'greater_than_equal'],
    ['limit=101', 'limit', 'less_than_equal'],
    ['limit=many', 'limit', 'int_parsing'],
    ['cursor=nonsense', 'cursor', 'value_error'],
    ['include=outputs', 'include', 'enum'],
  ])('refuses ?%s', async (query, name, type) => {
    const { status, body } = await list(`?${query}`);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ['query', name], type }]);
  });

  it.each(['limit=1', 'cursor=x', 'at=2026-01-01', 'include=inputs'])(
    'is not counted with ?%s, of which only a page has use',
    async (query) => expect((await list(`/counts?${query}`)).status).toBe(422),
  );

  it.each([
    ['since=yesterday', 'since', 'datetime_parsing'],
    ['step=0', 'step', 'greater_than_equal'],
    ['step=1', 'step', 'value_error'],
    ['since=2026-01-01&step=1', 'step', 'value_error'],
    ['since=2999-01-01', 'since', 'value_error'],
    ['status=queued', 'status', 'extra_forbidden'],
  ])('is not shown over time with ?%s', async (query, name, type) => {
    const { status, body } = await list(`/activity?${query}`);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ['query', name], type }]);
  });

  it('is shown to a key that may only read', async () => {
    const reading = await aKey(bed.log, bed.tenant, { scopes: ['runs:read'] });
    for (const query of ['', '/counts', '/activity']) {
      expect((await list(query, reading)).status).toBe(200);
      expect((await call(`${gateway.api}/runs${query}`, null)).status).toBe(401);
    }
  });

  it('is a 503 without views', async () => {
    await using unavailable = unavailableViews();
    const viewless = await bed.gateway({ views: unavailable });
    const { status, headers, body } = await call(`${viewless.api}/runs`, bed.tenant.key);
    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
    expect(body.detail).toContain('store of runs for lists');
  });
});

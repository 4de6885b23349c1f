import { recordDeliveryState } from '@runledger/event-log/streams/delivery-attempts';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { waitFor } from '@runledger/testing/wait-for';
import { webhookDelivered, webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { overEachViews } from '../../fixtures/views/over-each-views.ts';
import { unavailableViews } from '../../fixtures/views/mongo-views.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { anEndedRun, aState } from '../../fixtures/runs/notified-runs.ts';

const A = 'https://a.example/done?token=secret';
const B = 'https://b.example:8443/done';

overEachViews('runs with a webhook', (here) => {
  const list = (query = '', key = here.tenant.key) =>
    call(`${here.gateway.api}/webhooks/deliveries${query}`, key);
  const idsOf = ({ body }: { body: { deliveries: { run_id: string }[] } }) =>
    body.deliveries.map(({ run_id }) => run_id);
  const ended = (webhook: string) => anEndedRun(here.bed, here.gateway, { webhook, of: here.tenant });
  const statusOf = async ({ run_id }: RunKey) =>
    (await call(`${here.gateway.api}/run/${run_id}`, here.tenant.key)).body.webhook_status;
  const listed = (key: RunKey, status: string) =>
    waitFor(`the view to say ${status}`, async () => {
      const webhook = (await here.gateway.views.find(key))?.webhook.state;
      return (webhook?.status ?? 'not-started') === status;
    });
  const failedOne = async (webhook: string): Promise<RunKey> => {
    const key = await ended(webhook);
    await appendWebhook(here.bed.log, webhookGivenUp(key));
    await listed(key, 'failed');
    return key;
  };
  const redeliverAll = (body: object, key = here.tenant.key) =>
    post(`${here.gateway.api}/webhooks/redeliver`, key, body);

  it('are listed newest first, with the state of each delivery', async () => {
    await queueSample(here.gateway, here.tenant);
    const [notSent, waiting] = [await ended(A), await ended(B)];
    await appendWebhook(here.bed.log, webhookStarted(waiting));
    const state = aState();
    await recordDeliveryState(here.bed.log, waiting, state);
    const failed = await failedOne(A);
    await listed(waiting, 'running');
    const success = await ended(A);
    await appendWebhook(here.bed.log, webhookDelivered(success, 1, { tries: 3 }));
    await listed(success, 'success');
    const { status, body } = await list('', await aKey(here.bed.log, here.tenant, { scopes: ['admin'] }));
    expect(status).toBe(200);
    const url = 'https://a.example/done?[hidden]';
    const settled = { state: null, next_try_at: null, given_up_reason: null, round: 1 };
    expect(body).toEqual({
      deliveries: [
        { run_id: success.run_id, webhook_status: 'success', tries: 3, last_reason: null, message: null },
        {
          run_id: failed.run_id,
          webhook_status: 'failed',
          tries: 13,
          given_up_reason: 'tries_used_up',
          last_reason: 'server_error',
          message: 'the receiver answered 503',
        },
        {
          run_id: waiting.run_id,
          url: B,
          host: 'b.example:8443',
          webhook_status: 'running',
          state: 'retrying',
          tries: 2,
          next_try_at: state.next_try_at,
          last_reason: 'server_error',
          message: state.message,
          updated_at: state.at,
        },
        {
          run_id: notSent.run_id,
          webhook_status: 'not-started',
          tries: 0,
          last_reason: null,
          message: null,
        },
      ].map((one) => ({
        url,
        host: 'a.example',
        ...settled,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        ...one,
      })),
      next_cursor: null,
    });
  });

  it('are filtered by status, host and time', async () => {
    const failed = await failedOne(A);
    const other = await failedOne(B);
    const notSent = await ended(B);
    await listed(notSent, 'not-started');
    await waitFor('the view', () => here.gateway.views.find(notSent));
    expect(idsOf(await list('?status=failed'))).toEqual([other.run_id, failed.run_id]);
    expect(idsOf(await list('?status=failed,%20not-started'))).toHaveLength(3);
    expect(idsOf(await list('?status=failed&status=not-started'))).toHaveLength(3);
    expect(idsOf(await list('?status=running'))).toEqual([]);
    expect(idsOf(await list('?host=A.example'))).toEqual([failed.run_id]);
    expect(idsOf(await list('?host=b.example:8443&status=failed'))).toEqual([other.run_id]);
    expect(idsOf(await list('?host=b.example'))).toEqual([]);
    const { created_at } = (await list('?limit=1')).body.deliveries[0];
    expect(idsOf(await list(`?created_after=${created_at}`))).toContain(notSent.run_id);
    expect(idsOf(await list(`?created_before=${created_at}`))).not.toContain(notSent.run_id);
    expect(idsOf(await list('?created_after=2020-01-01&created_before=2020-01-02T03:04:05Z'))).toEqual([]);
    expect((await list('?sttus=failed')).body.detail).toMatchObject([
      { loc: ['query', 'sttus'], type: 'extra_forbidden', msg: /Did you mean 'status'/ },
    ]);
  });

  it('come page by page, unchanged by new runs', async () => {
    const keys: RunKey[] = [];
    for (let count = 0; count < 5; count += 1) keys.push(await ended(A));
    const newest = keys.toReversed().map(({ run_id }) => run_id);
    await waitFor('the views', async () => idsOf(await list()).length === 5);
    const first = await list('?limit=2');
    const late = await ended(A);
    await waitFor('the view', () => here.gateway.views.find(late));
    const second = await list(`?limit=2&cursor=${first.body.next_cursor}`);
    const third = await list(`?limit=2&cursor=${second.body.next_cursor}`);
    expect([...idsOf(first), ...idsOf(second), ...idsOf(third)]).toEqual(newest);
    expect(third.body.next_cursor).toBeNull();
  });

  it("belong to the caller's organisation", async () => {
    const mine = await failedOne(A);
    const other = await here.bed.newTenant();
    expect((await list('', other.key)).body).toEqual({ deliveries: [], next_cursor: null });
    const body = { filter: {} };
    expect((await redeliverAll(body, other.key)).body).toEqual({
      matched: 0,
      requested: 0,
      next_cursor: null,
    });
    expect(await statusOf(mine)).toBe('failed');
    const reader = await aKey(here.bed.log, here.tenant, { scopes: ['runs:read'] });
    expect((await list('', reader)).status).toBe(200);
    expect((await redeliverAll(body, reader)).status).toBe(403);
    expect((await call(`${here.gateway.api}/webhooks/deliveries`, null)).status).toBe(401);
  });

  it('are redelivered by filter: failed ones, unless another status is named', async () => {
    const failed = [await failedOne(A), await failedOne(B)];
    const success = await ended(A);
    await appendWebhook(here.bed.log, webhookDelivered(success));
    await listed(success, 'success');
    const dry = await redeliverAll({ filter: {}, dry_run: true });
    expect(dry.body).toEqual({ matched: 2, requested: 0, next_cursor: null });
    expect(await Promise.all(failed.map(statusOf))).toEqual(['failed', 'failed']);
    const one = await redeliverAll({ filter: { host: 'b.example:8443' } });
    expect(one.body).toEqual({ matched: 1, requested: 1, next_cursor: null });
    expect(await Promise.all(failed.map(statusOf))).toEqual(['failed', 'running']);
    const named = await redeliverAll({ filter: { status: 'success', created_after: '2020-01-01' } });
    expect(named.body).toEqual({ matched: 1, requested: 1, next_cursor: null });
    const none = await redeliverAll({ filter: { created_before: '2020-01-01' } });
    expect(none.body).toEqual({ matched: 0, requested: 0, next_cursor: null });
  });

  it('are not redelivered twice by a repeated request', async () => {
    const keys = [await failedOne(A), await failedOne(A), await failedOne(A)];
    const answers = await Promise.all([redeliverAll({ filter: {} }), redeliverAll({ filter: {} })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const requested = answers.map(({ body }) => body.requested);
    expect(requested.reduce((sum, part) => sum + part, 0)).toBe(3);
    for (const { run_id } of keys) {
      const { body } = await call(`${here.gateway.api}/run/${run_id}/deliveries`, here.tenant.key);
      expect(body).toMatchObject({ webhook_status: 'running', round: 2 });
    }
  });
});

describe('an invalid request', () => {
  let bed: TestBed;
  let gateway: TestGateway;
  beforeAll(async () => {
    bed = await openTestBed();
    gateway = await bed.gateway();
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  it.each([
    ['status=given-up', 'status', 'enum'],
    ['status=failed,', 'status', 'enum'],
    ['status=', 'status', 'enum'],
    ['host=', 'host', 'string_too_short'],
    ['created_after=yesterday', 'created_after', 'datetime_parsing'],
    ['created_after=2026-01-01T00:00:00', 'created_after', 'datetime_parsing'],
    ['created_before=2026-13-01', 'created_before', 'datetime_parsing'],
    ['limit=0', 'limit', 'greater_than_equal'],
    ['limit=-5', 'limit', 'greater_than_equal'],
    ['limit=101', 'limit', 'less_than_equal'],
    ['limit=ten', 'limit', 'int_parsing'],
    ['limit=', 'limit', 'int_parsing'],
    ['cursor=', 'cursor', 'value_error'],
    ['cursor=MTIz', 'cursor', 'value_error'],
    ['cursor=..%00', 'cursor', 'value_error'],
  ])('is refused in a list: %s', async (query, name, type) => {
    const { status, body } = await call(`${gateway.api}/webhooks/deliveries?${query}`, bed.tenant.key);
    expect([status, body.detail]).toEqual([422, [{ loc: ['query', name], type, msg: expect.any(String) }]]);
  });

  it.each([
    [undefined, ['body'], 'missing'],
    [[], ['body'], 'model_attributes_type'],
    [{}, ['body', 'filter'], 'missing'],
    [{ filter: { hosts: 'x' } }, ['body', 'filter', 'hosts'], 'extra_forbidden'],
    [{ filter: {}, dryRun: true }, ['body', 'dryRun'], 'extra_forbidden'],
    [{ filter: null }, ['body', 'filter'], 'dict_type'],
    [{ filter: 'failed' }, ['body', 'filter'], 'dict_type'],
    [{ filter: { status: 'all' } }, ['body', 'filter', 'status'], 'enum'],
    [{ filter: { status: ['failed', 'all'] } }, ['body', 'filter', 'status'], 'enum'],
    [{ filter: { status: 5 } }, ['body', 'filter', 'status'], 'enum'],
    [{ filter: { host: 5 } }, ['body', 'filter', 'host'], 'string_type'],
    [{ filter: { host: '' } }, ['body', 'filter', 'host'], 'string_too_short'],
    [{ filter: { created_after: 1 } }, ['body', 'filter', 'created_after'], 'datetime_type'],
    [{ filter: { created_before: 'x' } }, ['body', 'filter', 'created_before'], 'datetime_parsing'],
    [{ filter: {}, dry_run: 'yes' }, ['body', 'dry_run'], 'bool_type'],
    [{ filter: {}, cursor: 7 }, ['body', 'cursor'], 'string_type'],
    [{ filter: {}, cursor: '' }, ['body', 'cursor'], 'value_error'],
    [{ filter: {}, cursor: 'MTIz' }, ['body', 'cursor'], 'value_error'],
  ])('is refused for redeliveries: %j', async (given, loc, type) => {
    const { status, body } = await post(`${gateway.api}/webhooks/redeliver`, bed.tenant.key, given);
    expect([status, body.detail]).toEqual([422, [{ loc, type, msg: expect.any(String) }]]);
  });

  it('names everything that is wrong at once', async () => {
    const query = 'status=x&created_after=x&limit=x&cursor=x';
    const { body } = await call(`${gateway.api}/webhooks/deliveries?${query}`, bed.tenant.key);
    const names = body.detail.map(({ loc }: { loc: string[] }) => loc.at(-1));
    expect(names).toEqual(['status', 'created_after', 'limit', 'cursor']);
  });
});

describe('unavailable views', () => {
  it('make lists a 503 with Retry-After', async () => {
    await using bed = await openTestBed();
    await using unavailable = unavailableViews();
    const gateway = await bed.gateway({ views: unavailable });
    for (const answer of [
      await call(`${gateway.api}/webhooks/deliveries`, bed.tenant.key),
      await post(`${gateway.api}/webhooks/redeliver`, bed.tenant.key, { filter: {} }),
    ]) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
      expect(answer.body.detail).toContain('store of runs for lists');
      expect(answer.body.code).toBe('views_unavailable');
    }
  });
});

import { outputsDeleted, deleted } from '@runledger/testing/run-events';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { describe, expect, it } from 'vitest';
import { openHere } from '../../fixtures/gateway/here.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { anEndedRun, HOOK } from '../../fixtures/runs/notified-runs.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call } from '../../fixtures/requests/requests.ts';

const here = openHere();
const get = ({ run_id }: RunKey, key = here.tenant.key, headers: Record<string, string> = {}) =>
  call(`${here.gateway.api}/run/${run_id}`, key, { headers });
/** Shown once, from views that have all of the log. */
const shownRun = async (): Promise<RunKey> => {
  const run = await anEndedRun(here.bed, here.gateway, { of: here.tenant });
  await waitFor('the view', async () => (await here.gateway.views.find(run))?.run.status === 'success');
  await get(run);
  return run;
};

const LATER = ['date', 'x-request-id', 'ratelimit'];
const headersOf = ({ headers }: { readonly headers: Headers }) =>
  [...headers].filter(([name]) => !LATER.includes(name)).toSorted(([a], [b]) => a.localeCompare(b));

describe('a run that has ended, read again', () => {
  it('has the same response as the first time, with the same headers', async () => {
    const run = await anEndedRun(here.bed, here.gateway, { of: here.tenant });
    await waitFor('the view', async () => (await here.gateway.views.find(run))?.run.status === 'success');
    const first = await get(run);
    const again = await get(run);
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(headersOf(again)).toEqual(headersOf(first));
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    const named = await get(run, here.tenant.key, { 'x-request-id': 'mine' });
    expect(named.headers.get('x-request-id')).toBe('mine');
  });

  it('is not sent again to a client that has it', async () => {
    const run = await shownRun();
    const tag = (await get(run)).headers.get('etag') ?? '';
    const { status, body } = await get(run, here.tenant.key, { 'if-none-match': tag });
    expect([status, body]).toEqual([304, '']);
  });

  it('shows the path of its callback to an admin only, whoever reads it first', async () => {
    const reader = await aKey(here.bed.log, here.tenant, { scopes: ['runs:read'] });
    const admin = await aKey(here.bed.log, here.tenant, { scopes: ['admin'] });
    for (const keys of [
      [admin, reader],
      [reader, admin],
    ]) {
      const run = await anEndedRun(here.bed, here.gateway, { of: here.tenant });
      await waitFor('the view', async () => (await here.gateway.views.find(run))?.run.status === 'success');
      for (const key of [...keys, ...keys]) {
        const { webhook } = (await get(run, key)).body;
        expect(webhook === HOOK).toBe(key === admin);
      }
    }
  });

  it('shows each later fact at once, also while the views are behind', async () => {
    const run = await shownRun();
    expect((await get(run)).body.webhook_status).toBe('not-started');
    await appendWebhook(here.bed.log, webhookDelivered(run));
    expect((await get(run)).body.webhook_status).toBe('success');
    await appendAll(here.bed.log, outputsDeleted(run));
    expect((await get(run)).body.missing_members).toEqual([{ member: 'outputs', reason: 'deleted' }]);
    await appendAll(here.bed.log, deleted(run));
    expect((await get(run)).status).toBe(404);
    await waitFor('the position', async () => {
      const { state } = await here.bed.log.jsm.streams.info('RUNS');
      return ((await here.gateway.views.position())?.sequence ?? 0) >= state.last_seq;
    });
    expect((await get(run)).status).toBe(404);
  });

  it('is unknown to another organisation, and to a key that may not read or is revoked', async () => {
    const run = await shownRun();
    const other = await here.bed.newTenant();
    await get(await queueSample(here.gateway, other), other.key);
    expect((await get(run, other.key)).status).toBe(404);
    const operator = await aKey(here.bed.log, here.tenant, { scopes: ['operator'] });
    expect((await get(run, operator)).status).toBe(403);
    expect((await get(run, operator)).status).toBe(403);
    expect((await get(run, 'rl_nobodyhasthiskey')).status).toBe(401);
  });
});

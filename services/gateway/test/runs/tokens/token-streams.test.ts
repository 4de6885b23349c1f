import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeApiKey } from '../../../src/records/keys/api-keys.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { openEventSource } from '../subscribe/an-event-source.ts';
import { aRunToken } from './a-run-token.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const aQueuedRun = async () => {
  const run = aRun(bed.tenant.org_id);
  await appendAll(bed.log, queued(run));
  return run;
};
/** As an `EventSource` does, without any header of its own. */
const openWith = (url: string, token: string) =>
  openEventSource(`${url}${url.includes('?') ? '&' : '?'}access_token=${token}`, null);

const ENDED = 'The API key or token is invalid, expired or revoked';

describe('a stream that a token opened', () => {
  it('ends when the key that made the token is revoked; those of other keys go on', async () => {
    const run = await aQueuedRun();
    const revoked = await aKey(bed.log, bed.tenant, {});
    const token = await aRunToken(gateway, revoked, run);
    await using events = await openWith(gateway.eventsOf(run), token);
    await using logs = await openWith(gateway.logsOf(run, '?follow=1'), token);
    await using other = await openWith(gateway.eventsOf(run), await aRunToken(gateway, bed.tenant.key, run));
    const waiting = call(`${gateway.api}/run/${run.run_id}?wait=30`, token);
    await waitFor('what is there', () => [events, other].every((source) => source.facts().length === 1));
    await revokeApiKey(bed.log, revoked);
    await Promise.all([events.ended, logs.ended]);
    expect([events.comments.at(-1), logs.comments.at(-1)]).toEqual([ENDED, ENDED]);
    expect((await waiting).status).toBe(401);
    await appendAll(bed.log, assigned(run));
    await waitFor('the next fact', () => other.facts().length === 2);
  });

  it('ends when the token expires, and cannot be opened again', async () => {
    const run = await aQueuedRun();
    const asked = { scopes: ['events'], expires_in_s: 2 };
    const { body } = await post(`${gateway.api}/run/${run.run_id}/tokens`, bed.tenant.key, asked);
    await using source = await openWith(gateway.eventsOf(run), body.token);
    await waitFor('what is there', () => source.facts().length === 1);
    await source.ended;
    const late = Date.now() - Date.parse(body.expires_at);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(1_000);
    expect(source.comments.at(-1)).toBe(ENDED);
    expect((await call(gateway.eventsOf(run), body.token)).status).toBe(401);
  });

  it('continues at another gateway behind the last event', async () => {
    const run = await aQueuedRun();
    const token = await aRunToken(gateway, bed.tenant.key, run, ['events']);
    await using first = await openWith(gateway.eventsOf(run), token);
    await waitFor('what is there', () => first.facts().length === 1);
    await appendAll(bed.log, assigned(run));
    const other = await bed.gateway();
    const url = `${other.eventsOf(run)}?access_token=${token}`;
    await using rest = await openEventSource(url, null, { after: first.facts()[0]?.id ?? '' });
    await waitFor('the rest', () => rest.facts().length === 1);
    expect(rest.facts()[0]?.data.status).toBe('started');
  });
});

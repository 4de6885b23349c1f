import { newUuid } from '@runledger/contracts/ids';
import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeApiKey } from '../../../src/records/keys/api-keys.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { openEventSource, readToEnd } from './an-event-source.ts';

let bed: TestBed;
let key: string;
beforeAll(async () => {
  bed = await openTestBed();
  key = bed.tenant.key;
});
afterAll(() => bed[Symbol.asyncDispose]());

const aQueuedRun = async () => {
  const run = aRun(bed.tenant.org_id);
  await appendAll(bed.log, queued(run));
  return run;
};

describe('a gateway that stops', () => {
  it('ends its streams, and clients continue at another gateway after their last event', async () => {
    const gateway = await bed.gateway();
    const other = await bed.gateway();
    const run = await aQueuedRun();
    await appendAll(bed.log, assigned(run));
    await using source = await openEventSource(gateway.eventsOf(run), key);
    await waitFor('what is there', () => source.facts().length === 2);
    gateway.stopping();
    await source.ended;
    expect([source.retry(), source.comments.at(-1)]).toEqual([1_000, 'the service stops']);
    const refused = await call(gateway.eventsOf(run), key);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    await appendAll(bed.log, started(run), succeeded(run));
    const rest = await readToEnd(other.eventsOf(run), key, { after: source.facts().at(-1)?.id ?? '' });
    expect([...source.facts(), ...rest.facts()].map(({ data }) => data.status)).toEqual([
      'queued',
      'started',
      'running',
      'success',
    ]);
  });
});

describe('a gateway at its limit of open streams', () => {
  it('accepts another stream once a client has left, also of the same run', async () => {
    await using open = new AsyncDisposableStack();
    const gateway = await bed.gateway({ environment: { RUNLEDGER_STREAMS_MAX: '2' } });
    const run = await aQueuedRun();
    const client = () => openEventSource(gateway.eventsOf(run), key);
    const first = [await client(), await client()];
    expect(first.map(({ status }) => status)).toEqual([200, 200]);
    const refused = await call(gateway.eventsOf(run), key);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(refused.body.code).toBe('gateway_streams_full');
    for (const leaving of first) {
      await leaving[Symbol.asyncDispose]();
      const next = await waitFor('the gateway to accept another stream', async () => {
        const source = await client();
        return source.status === 200 && source;
      });
      open.use(next);
    }
  });
});

describe('the streams of a key', () => {
  it('end when the key is revoked, and streams of other keys continue', async () => {
    const gateway = await bed.gateway();
    const run = await aQueuedRun();
    const revoked = await aKey(bed.log, bed.tenant, {});
    await using first = await openEventSource(gateway.eventsOf(run), revoked);
    await using second = await openEventSource(gateway.eventsOf(run), revoked);
    await using kept = await openEventSource(gateway.eventsOf(run), key);
    await waitFor('what is there', () =>
      [first, second, kept].every((source) => source.facts().length === 1),
    );
    await revokeApiKey(bed.log, revoked);
    await Promise.all([first.ended, second.ended]);
    expect([first.comments.at(-1), first.retry()]).toEqual([
      'The API key or token is invalid, expired or revoked',
      undefined,
    ]);
    await appendAll(bed.log, assigned(run));
    await waitFor('the next fact', () => kept.facts().length === 2);
    expect(first.facts()).toHaveLength(1);
  });

  it('end when the key expires', async () => {
    const gateway = await bed.gateway();
    const run = await aQueuedRun();
    const expires_at = new Date(Date.now() + 1_500).toISOString();
    const short = await aKey(bed.log, bed.tenant, { expires_at });
    await using source = await openEventSource(gateway.eventsOf(run), short);
    await source.ended;
    expect(source.facts()).toHaveLength(1);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at));
  });
});

describe('a run whose events have expired', () => {
  it('is streamed as one event, its last state', async () => {
    const run = aRun(bed.tenant.org_id);
    const views = sqliteViews();
    await views.save([aView(7, folded(queued(run), assigned(run), started(run), succeeded(run)))]);
    const gateway = await bed.gateway({ views });
    const source = await readToEnd(gateway.eventsOf(run), key);
    expect(source.facts().map(({ id, data }) => [id, data.type, data.status, data.finished])).toEqual([
      [7, null, 'success', true],
    ]);
    const behind = await openEventSource(gateway.eventsOf(run), key, { after: 7 });
    expect(behind.status).toBe(204);
    expect((await call(gateway.eventsOf({ run_id: newUuid() }), key)).status).toBe(404);
  });
});

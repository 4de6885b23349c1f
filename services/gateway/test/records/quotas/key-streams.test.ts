import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveKey } from '../../../src/records/keys/derive-key.ts';
import { createApiKey } from '../../../src/records/keys/api-keys.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { openEventSource } from '../../runs/subscribe/an-event-source.ts';
import { aRunToken } from '../../runs/tokens/a-run-token.ts';

let bed: TestBed;
let gateway: TestGateway;
let run: RunKey;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ environment: { RUNLEDGER_KEY_STREAMS_MAX: '3' } });
  run = aRun(bed.tenant.org_id);
  await appendAll(bed.log, queued(run));
});
afterAll(() => bed[Symbol.asyncDispose]());

const refusals = async (): Promise<string | undefined> =>
  /quota_refusals_total\{[^}]*resource="key_streams"[^}]*\} (\d+)/.exec(await gateway.metrics.metrics())?.[1];

describe('an API key at its limit of streams', () => {
  it('is refused a further one, with its derived keys; their tokens and other keys of the organisation are not', async () => {
    const { org_id, user_id } = bed.tenant;
    const parent = await createApiKey(bed.log, { org_id, user_id, name: 'parent' });
    const derived = await deriveKey(bed.log, parent.record, { name: 'child' }, new Date());
    if (derived.kind !== 'derived') throw new Error(derived.kind);
    const token = await aRunToken(gateway, derived.created.key, run);
    const family = [parent.key, derived.created.key];
    const other = await aKey(bed.log, bed.tenant, {});
    const events = gateway.eventsOf(run);
    const logs = gateway.logsOf(run, '?follow=1');

    await using first = await openEventSource(events, parent.key);
    await using second = await openEventSource(logs, derived.created.key);
    await using third = await openEventSource(events, derived.created.key);
    expect([first.status, second.status, third.status]).toEqual([200, 200, 200]);
    for (const credential of family)
      for (const url of [events, logs]) {
        const refused = await call(url, credential);
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
        expect(refused.body.detail).toContain('This API key with the keys derived from it, or their tokens');
      }
    expect(await refusals()).toBe('4');
    await using ofPage = await openEventSource(events, token);
    expect(ofPage.status).toBe(200);
    // A waiting read shows the run at once instead.
    const began = performance.now();
    const waited = await call(`${gateway.api}/run/${run.run_id}?wait=60`, parent.key);
    expect([waited.status, waited.body.status, performance.now() - began < 30_000]).toEqual([
      200,
      'queued',
      true,
    ]);

    await using free = await openEventSource(events, other);
    expect(free.status).toBe(200);
    await first[Symbol.asyncDispose]();
    await using next = await waitFor('the gateway to accept another stream', async () => {
      const source = await openEventSource(events, parent.key);
      return source.status === 200 && source;
    });
    expect(next.status).toBe(200);
  });

  it('has another limit for the tokens of its family, which share it', async () => {
    const key = await aKey(bed.log, bed.tenant, {});
    const tokens = [await aRunToken(gateway, key, run), await aRunToken(gateway, key, run, ['events'])];
    await using open = new AsyncDisposableStack();
    for (const token of [...tokens, tokens[0] ?? ''])
      expect(open.use(await openEventSource(gateway.eventsOf(run), token)).status).toBe(200);
    for (const token of tokens) expect((await call(gateway.eventsOf(run), token)).status).toBe(429);
    expect(open.use(await openEventSource(gateway.eventsOf(run), key)).status).toBe(200);
  });
});

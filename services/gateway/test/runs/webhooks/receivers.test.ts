import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import type { ReceiversRequest, ReceiverState } from '@runledger/contracts/deliveries/receivers';
import { respondWithReceivers } from '@runledger/request-reply/receivers';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, aTenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());

const read = (query = '', key: string | null = bed.tenant.key) =>
  call(`${gateway.api}/webhooks/receivers${query}`, key);

const OPEN: ReceiverState = {
  origin: 'https://hooks.example:8443',
  state: 'open',
  shared: false,
  since: '2026-05-01T12:00:00.000Z',
  next_probe_at: '2026-05-01T12:00:30.000Z',
  failures_in_a_row: 5,
  failing_since: '2026-05-01T11:59:50.000Z',
  waiting: 12,
  in_flight: 0,
  max_in_flight: 0,
  held_up_by: 'breaker',
  last_success_at: null,
  last_failure: {
    at: '2026-05-01T12:00:00.000Z',
    reason: 'server_error',
    status: 503,
    message: 'hooks.example:8443 answered 503.',
  },
};

/** A notifier that holds these partitions, and remembers what it was asked. */
const notifier = async (partitions: number, receivers: readonly ReceiverState[] = []) => {
  const requests: ReceiversRequest[] = [];
  const responding = respondWithReceivers(bed.log, async (request) => {
    requests.push(request);
    return {
      partitions: Array.from({ length: partitions }, (_, number) => number),
      receivers: [...receivers],
      more: false,
    };
  });
  // The broker knows the subscription now.
  await bed.log.nc.flush();
  return { requests, [Symbol.dispose]: () => responding[Symbol.dispose]() };
};

describe('GET /webhooks/receivers', () => {
  it('shows what the notifiers know of the receivers of the organisation', async () => {
    using asked = await notifier(PARTITIONS, [OPEN]);
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body).toEqual({
      complete: true,
      receivers: [{ host: 'hooks.example:8443', ...OPEN }],
      more: false,
    });
    expect(asked.requests).toEqual([{ org_id: bed.tenant.org_id, host: null, origins: [] }]);
  });

  it('names to them the origins of recent runs, of this organisation and of the host only', async () => {
    const other = await aTenant(bed.log);
    for (const webhook of ['https://a.example/1', 'https://a.example./2', 'https://b.example:8443/3'])
      await queueSample(gateway, bed.tenant, { webhook });
    await queueSample(gateway, other, { webhook: 'https://theirs.example/' });
    await waitFor('the views to have the runs', async () => {
      const { body } = await call(`${gateway.api}/webhooks/deliveries`, other.key);
      return body.deliveries.length === 1;
    });
    using asked = await notifier(PARTITIONS);
    await read();
    await read('?host=B.example:8443');
    expect(asked.requests).toEqual([
      { org_id: bed.tenant.org_id, host: null, origins: ['https://b.example:8443', 'https://a.example'] },
      { org_id: bed.tenant.org_id, host: 'b.example:8443', origins: ['https://b.example:8443'] },
    ]);
  });

  it('says when a notifier has not responded', async () => {
    expect((await read()).body).toEqual({ complete: false, receivers: [], more: false });
    using asked = await notifier(PARTITIONS - 1, [OPEN]);
    expect((await read()).body).toMatchObject({ complete: false, receivers: [{ origin: OPEN.origin }] });
    expect(asked.requests).toHaveLength(1);
  });

  it('needs a key that reads runs', async () => {
    expect((await read('', await aKey(bed.log, bed.tenant, { scopes: ['operator'] }))).status).toBe(403);
    expect((await read('', null)).status).toBe(401);
  });
});

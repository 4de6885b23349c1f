import { waitFor } from '@runledger/testing/wait-for';
import { tcpProxy } from '@runledger/testing/servers/tcp-proxy';
import { describe, expect, it } from 'vitest';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { aGateway } from '../../fixtures/gateway/a-gateway.ts';
import { factsOf, queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';

describe('a broker that is slow', { timeout: 120_000 }, () => {
  it.concurrent.each([
    ['1.5 s, which is in time', 1_500],
    ['3 s, which is too late', 3_000],
  ])(
    'by %s: every request succeeds or is refused with 503, and none queues a run twice',
    async (_words, delayMs) => {
      await using bed = await openTestBed();
      const { tenant } = bed;
      await using link = await tcpProxy(() => bed.nats.port);
      await using gateway = await aGateway({ ...bed.nats.login, url: link.url }, { projecting: true });
      const run = await queueSample(gateway, tenant);
      link.delayMs = delayMs;
      const answers = await Promise.all([
        queueKeyed(gateway, tenant, 'k'),
        queueKeyed(gateway, tenant, 'k'),
        call(`${gateway.api}/run/${run.run_id}`, tenant.key),
        call(`${gateway.api}/runs`, tenant.key),
        post(`${gateway.api}/run/${run.run_id}/cancel`, tenant.key),
      ]);
      for (const { status, headers } of answers)
        expect([status, headers.get('retry-after')]).toEqual(status === 200 ? [200, null] : [503, '2']);

      link.delayMs = 0;
      const queued = await waitFor('an answer', async () =>
        runIn(tenant, await queueKeyed(gateway, tenant, 'k')),
      );
      await waitFor('the first to be cancelled', async () => {
        const { body } = await post(`${gateway.api}/run/${run.run_id}/cancel`, tenant.key);
        return body.status === 'cancelled';
      });
      const { body } = await call(`${gateway.api}/run/${queued.run_id}`, tenant.key);
      expect(body.status).toBe('queued');
      expect(await factsOf(bed, tenant)).toBe(3);
    },
  );
});

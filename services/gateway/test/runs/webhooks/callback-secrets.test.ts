import { withoutQuery } from '@runledger/contracts/deliveries/delivery-attempts';
import { recordDeliveryAttempt } from '@runledger/event-log/streams/delivery-attempts';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { anEndedRun, aDeliveryAttempt } from '../../fixtures/runs/notified-runs.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());

/** Everything that shows the callback of a run, once the views have the run. */
const shownOf = async (webhook: string, scope: 'admin' | 'runs:write' | 'runs:read') => {
  const tenant = await bed.newTenant();
  const run = await anEndedRun(bed, gateway, { webhook, of: tenant });
  const url = withoutQuery(webhook);
  await recordDeliveryAttempt(bed.log, run, aDeliveryAttempt(1, { url }));
  await recordDeliveryAttempt(bed.log, run, aDeliveryAttempt(1, { url, notification: 'intermediate' }));
  await waitFor('the view', () => gateway.views.find(run));
  const key = await aKey(bed.log, tenant, { scopes: [scope] });
  const answerOf = async (path: string) => (await call(`${gateway.api}${path}`, key)).body;
  const answers = {
    run: await answerOf(`/run/${run.run_id}`),
    runs: await answerOf('/runs'),
    deliveries: await answerOf(`/run/${run.run_id}/deliveries`),
    listed: await answerOf('/webhooks/deliveries'),
  };
  const { run: read, runs, deliveries, listed } = answers;
  return {
    text: JSON.stringify(answers),
    ofRun: [read.webhook, runs.runs[0].webhook],
    ofDeliveries: [
      deliveries.webhook,
      deliveries.tries[0].url,
      deliveries.intermediate.url,
      listed.deliveries[0].url,
    ],
    host: listed.deliveries[0].host,
  };
};

const IN_PATH = 'https://hooks.example:8443/T0/s3cret';
const IN_QUERY = 'https://hooks.example:8443/?token=s3cret';

describe('the callback of a run', () => {
  it.each([
    [IN_PATH, IN_PATH],
    [IN_QUERY, 'https://hooks.example:8443/?[hidden]'],
  ])('%s is shown to an admin, and in deliveries without its query', async (webhook, inDeliveries) => {
    const shown = await shownOf(webhook, 'admin');
    expect(shown.ofRun).toEqual([webhook, webhook]);
    expect(new Set(shown.ofDeliveries)).toEqual(new Set([inDeliveries]));
  });

  it.each(['runs:write', 'runs:read'] as const)('is its host to a key with the scope %s', async (scope) => {
    for (const webhook of [IN_PATH, IN_QUERY]) {
      const shown = await shownOf(webhook, scope);
      const host = 'https://hooks.example:8443/[hidden]';
      expect(new Set([...shown.ofRun, ...shown.ofDeliveries])).toEqual(new Set([host]));
      expect(shown.host).toBe('hooks.example:8443');
      expect(shown.text).not.toContain('s3cret');
    }
  });

  it.each(['admin', 'runs:write', 'runs:read'] as const)(
    'that is only a host is shown whole to a key with the scope %s',
    async (scope) => {
      const shown = await shownOf('https://hooks.example', scope);
      expect(new Set([...shown.ofRun, ...shown.ofDeliveries])).toEqual(new Set(['https://hooks.example']));
    },
  );

  it('is in no answer to the key that queues it and sends it again', async () => {
    const tenant = await bed.newTenant();
    const key = await aKey(bed.log, tenant, { scopes: ['runs:write'] });
    const fields = { deployment_id: tenant.deployment.id, webhook: IN_PATH };
    const queued = await post(`${gateway.api}/run/deployment/queue`, key, fields);
    const run = await anEndedRun(bed, gateway, { webhook: IN_PATH, of: tenant });
    const again = await post(`${gateway.api}/run/${run.run_id}/redeliver`, key);
    const refused = await post(`${gateway.api}/run/deployment/queue`, key, {
      ...fields,
      webhook: 'http://10.0.0.1/s3cret?token=s3cret',
    });
    expect([queued.status, again.status, refused.status]).toEqual([200, 200, 422]);
    expect(JSON.stringify([queued.body, again.body, refused.body])).not.toContain('s3cret');
  });
});

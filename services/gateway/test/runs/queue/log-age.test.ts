import { describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { factsOf, runIn } from '../../fixtures/runs/queued-runs.ts';

describe('a run that could outlive the log', () => {
  it('is refused when the log was shortened since its deployment was made, and says what fits', async () => {
    await using short = await openTestBed();
    const before = await short.gateway();
    const { deployment, key } = short.tenant;
    const queue = (gateway: TestGateway, start: object = {}): Promise<ApiAnswer> =>
      post(`${gateway.api}/run/deployment/queue`, key, { deployment_id: deployment.id, ...start });
    const admin = await aKey(short.log, short.tenant, { scopes: ['admin'] });
    const run = runIn(short.tenant, await queue(before));
    // Three days are for the notification, and an hour of each day is a margin: 5,760 seconds are left for a run.
    await short.log.jsm.streams.update('RUNS', { max_age: 3.2 * 86_400 * 1_000_000_000 });
    const gateway = await short.gateway();
    const refused = await queue(gateway);
    expect([refused.status, refused.body.code]).toEqual([409, 'run_outlives_log']);
    expect(refused.body.detail).toMatch(/Nothing was queued: .*could live 21600 s.*long enough for 5760 s/);
    expect(refused.body.detail).toContain('ask the operator for a higher runsMaxAgeMs');
    expect((await post(`${gateway.api}/run/${run.run_id}/rerun`, key, {})).status).toBe(409);
    expect(await factsOf(short, short.tenant)).toBe(1);
    const change = await call(`${gateway.api}/deployments/${deployment.id}`, admin, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ run_timeout_s: 2_161, retry: { attempts: 1 } }),
    });
    expect(change.status).toBe(422);
    expect(change.body.detail[0].msg).toMatch(/could live 5761 s/);
    const records = catalogue(short.log);
    await records.deployments.put({ ...deployment, retry: { attempts: 1 }, run_timeout_s: 2_160 });
    expect((await queue(gateway)).status).toBe(200);
    const start_at = new Date(Date.now() + 60_000).toISOString();
    for (const start of [{ delay_s: 60 }, { start_at }]) {
      const delayed = await queue(gateway, start);
      expect(delayed.status).toBe(409);
      expect(delayed.body.detail).toMatch(
        /could live 58[12]\d s \(a delay of (59|60) s, then start deadline.*Lower the delay,/,
      );
    }
  });
});

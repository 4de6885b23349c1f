import { newUuid } from '@runledger/contracts/ids';
import { LogFull } from '@runledger/event-log/append/append';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { responseTo, refusalOf } from '../../../src/door/refusal.ts';
import { knownFailures } from '../../../src/known-failures.ts';
import { openTestBed, openTestBedOnOwnBroker } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { factsOf, queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aRun, assigned, deleted, queued, started, succeeded } from '@runledger/testing/run-events';
import { heldViews } from '../../fixtures/views/held-views.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

describe('while the broker is unavailable', { timeout: 90_000 }, () => {
  it('never shows less than before, and continues when the broker is back', async () => {
    await using bed = await openTestBedOnOwnBroker();
    const { tenant } = bed;
    const { key, deployment } = tenant;
    const gateway = await bed.gateway();
    const run = await queueSample(gateway, tenant);
    await bed.nats.kill9();
    const answers = await Promise.all([
      post(`${gateway.api}/run/deployment/queue`, key, { deployment_id: deployment.id }),
      queueKeyed(gateway, tenant, 'k'),
      call(`${gateway.api}/run/${run.run_id}`, key),
      call(`${gateway.api}/run/${newUuid()}`, key),
      post(`${gateway.api}/run/${run.run_id}/cancel`, key),
      call(`${gateway.api}/run/${run.run_id}/deliveries`, key),
      post(`${gateway.api}/run/${run.run_id}/redeliver`, key),
      call(`${gateway.url}/outputs/${'a'.repeat(43)}/a.png`, null),
    ]);
    for (const { status, headers, body } of answers) {
      expect([status, headers.get('retry-after')]).toEqual([503, '2']);
      expect(body).toEqual(aRefusal('log_unavailable'));
    }
    expect((await call(`${gateway.api}/run/${run.run_id}`, null)).status).toBe(401);
    await bed.nats.restart();
    await waitFor('the run to be shown again', async () => {
      const { status, body } = await call(`${gateway.api}/run/${run.run_id}`, key);
      return status === 200 && body.status === 'queued';
    });
    await queueSample(gateway, tenant);
    const keyed = runIn(tenant, await queueKeyed(gateway, tenant, 'k'));
    expect(runIn(tenant, await queueKeyed(gateway, tenant, 'k'))).toEqual(keyed);
    // The connection of this test comes back when it does.
    const facts = await waitFor('the log to be read', () => factsOf(bed, tenant).catch(() => undefined));
    expect(facts).toBe(3);
  });
});

it('a run is not run again by its view while the log cannot say whether it is deleted', async () => {
  await using bed = await openTestBedOnOwnBroker();
  const { tenant } = bed;
  const held = heldViews(sqliteViews());
  await using gateway = await bed.gateway({ views: held.views, projecting: true });
  const run = await queueSample(gateway, tenant);
  await appendAll(bed.log, assigned(run), started(run), succeeded(run));
  await held.hold(bed.log);
  await appendAll(bed.log, deleted(run));
  const before = await factsOf(bed, tenant);
  expect((await call(`${gateway.api}/run/${run.run_id}`, tenant.key)).status).toBe(404);
  await bed.nats.kill9();
  const rerun = post(`${gateway.api}/run/${run.run_id}/rerun`, tenant.key);
  await bed.nats.restart();
  expect([404, 503]).toContain((await rerun).status);
  held.release();
  const facts = await waitFor('the log to be read', () => factsOf(bed, tenant).catch(() => undefined));
  expect(facts).toBe(before);
});

describe('a log that is nearly full', () => {
  it('accepts no new runs, and accepted runs continue', async () => {
    await using bed = await openTestBed({ runsMaxBytes: 256 * 1024 });
    const gateway = await bed.gateway();
    const run = await queueSample(gateway, bed.tenant);
    const inputs = { text: 'x'.repeat(4_000) };
    await appendAll(bed.log, ...Array.from({ length: 42 }, () => queued(aRun(), { inputs })));
    const refused = await waitFor('the gateway to look at the log again', async () => {
      const answer = await post(`${gateway.api}/run/deployment/queue`, bed.tenant.key, {
        deployment_id: bed.tenant.deployment.id,
      });
      return answer.status !== 200 && answer;
    });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(refused.body).toEqual(aRefusal('log_full', expect.stringContaining('Nothing was queued')));
    const again = await post(`${gateway.api}/run/${run.run_id}/rerun`, bed.tenant.key);
    expect([again.status, again.headers.get('retry-after')]).toEqual([503, '2']);
    const cancelled = await post(`${gateway.api}/run/${run.run_id}/cancel`, bed.tenant.key);
    expect(cancelled.body.outcome).toBe('cancelled');

    const fill = () => appendAll(bed.log, queued(aRun(), { inputs }));
    const fillAll = async () => {
      for (;;) await fill();
    };
    await expect(fillAll()).rejects.toThrow(LogFull);
    const answer = responseTo(
      refusalOf(await fill().catch((error: unknown) => error), knownFailures),
      'a-request',
    );
    expect([answer.status, answer.body]).toEqual([
      503,
      aRefusal('log_full', expect.stringContaining('full')),
    ]);
  });
});

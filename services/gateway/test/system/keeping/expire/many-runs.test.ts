import type { RunKey } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import { aRun, queued } from '@runledger/testing/run-events';
import { IS_NIGHTLY } from '@runledger/testing/random/cases';
import { waitFor } from '@runledger/testing/wait-for';
import pLimit from 'p-limit';
import { describe, expect, it } from 'vitest';
import { aGateway } from '../../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../../fixtures/gateway/test-bed.ts';
import { forgetAll } from '../../../fixtures/runs/forgotten-log.ts';
import { factsOf } from '../../../fixtures/runs/queued-runs.ts';
import { sqliteViews } from '../../../fixtures/views/sqlite-views.ts';

const MANY = IS_NIGHTLY ? 3_000 : 1_200;
const LIMIT_MS = 180_000;

const queueMany = async ({ log, tenant }: TestBed): Promise<RunKey[]> => {
  const limit = pLimit(64);
  const keys = Array.from({ length: MANY }, () => aRun(tenant.org_id));
  await limit.map(keys, (key) => append(log, queued(key), 0));
  return keys;
};

const countOf = (views: ReturnType<typeof sqliteViews>, { tenant }: TestBed): Promise<number> =>
  views.countQueued(aRun(tenant.org_id).org_id, MANY + 1);

/** Views that know all queued runs, while no gateway runs and the log has forgotten them. */
const viewsOfForgotten = async (bed: TestBed, number: number): Promise<ReturnType<typeof sqliteViews>[]> => {
  const all = Array.from({ length: number }, sqliteViews);
  const gateways = await Promise.all(
    all.map((views) => aGateway(bed.nats.login, { views, projecting: true })),
  );
  await queueMany(bed);
  for (const views of all) {
    await waitFor('the views', async () => (await countOf(views, bed)) === MANY, { withinMs: 60_000 });
  }
  await Promise.all(gateways.map((gateway) => gateway[Symbol.asyncDispose]()));
  await forgetAll(bed.log);
  return all;
};

describe('thousands of runs that outlived the log', { timeout: LIMIT_MS }, () => {
  it('end once each, by two gateways', async () => {
    await using bed = await openTestBed();
    const all = await viewsOfForgotten(bed, 2);
    await Promise.all(all.map((views) => bed.gateway({ views, projecting: true })));
    for (const views of all) {
      await waitFor('the ends', async () => (await countOf(views, bed)) === 0, { withinMs: 120_000 });
    }
    expect(await factsOf(bed, bed.tenant)).toBe(MANY);
  });

  it('end when the log has other runs since', async () => {
    await using bed = await openTestBed();
    const [views] = await viewsOfForgotten(bed, 1);
    if (!views) throw new Error('no views');
    const healthy = aRun(bed.tenant.org_id);
    await append(bed.log, queued(healthy), 0);
    await bed.gateway({ views, projecting: true });
    await waitFor('the ends', async () => (await countOf(views, bed)) === 1, { withinMs: 120_000 });
    expect((await views.find(healthy))?.run.status).toBe('queued');
    expect(await factsOf(bed, bed.tenant)).toBe(MANY + 1);
  });
});

import type { Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { redeliveryRequested, webhookGivenUp } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import type { RunView } from '../../../src/views/run-view.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { post } from '../../fixtures/requests/requests.ts';
import { aView, folded, foldedWebhook } from '../../fixtures/runs/folded-runs.ts';
import { HOOK } from '../../fixtures/runs/notified-runs.ts';
import { sayCaughtUp, viewOf } from '../../fixtures/views/stale-views.ts';

const PAGE = 1_000;

let bed: TestBed;
beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

const redeliver = ({ api }: TestGateway, key: string, body: object) =>
  post(`${api}/webhooks/redeliver`, key, body);

/** The run succeeds, and its notification fails. */
const fail = async (run: RunKey): Promise<void> => {
  await appendAll(bed.log, queued(run, { webhook: HOOK }), assigned(run), started(run), succeeded(run));
  await appendWebhook(bed.log, webhookGivenUp(run));
};

const aViewOfAnExpiredRun = (org_id: string, placed: Pick<Run, 'number' | 'created_at'>): RunView => {
  const run = aRun(org_id);
  const ended = folded(queued(run, { webhook: HOOK }), assigned(run), started(run), succeeded(run));
  return aView(4, { ...ended, ...placed }, foldedWebhook(5, webhookGivenUp(run)));
};

const roundOf = async (run: RunKey): Promise<number | undefined> => {
  const read = await readRun(bed.log, run);
  return read.kind === 'found' ? read.webhook?.state?.round : undefined;
};

describe('many redeliveries', () => {
  it('redeliver more than a page once each, newest first, also when receivers refuse again at once', async () => {
    const { org_id, key } = await bed.newTenant();
    const views = sqliteViews();
    const gateway = await bed.gateway({ views });
    const [older, newer] = [aRun(org_id), aRun(org_id)];
    const real = [older, newer];
    for (const run of real) await fail(run);
    const saveAll = async () => {
      await views.save(await Promise.all(real.map((run) => viewOf(bed, run))));
      await sayCaughtUp(bed, views);
    };
    await saveAll();
    // Between the two; the log no longer has them, so that they are counted alone.
    const { number, created_at } = (await viewOf(bed, newer)).run;
    const between = { number: number - 1, created_at };
    await views.save(Array.from({ length: PAGE }, () => aViewOfAnExpiredRun(org_id, between)));

    const first = await redeliver(gateway, key, { filter: {}, cursor: null });
    expect(first.body).toEqual({ matched: PAGE, requested: 1, next_cursor: expect.any(String) });
    expect(await Promise.all(real.map(roundOf))).toEqual([1, 2]);
    await appendWebhook(bed.log, webhookGivenUp(newer, 2));
    await saveAll();
    const { next_cursor: cursor } = first.body;
    const counted = await redeliver(gateway, key, { filter: {}, cursor, dry_run: true });
    expect(counted.body).toEqual({ matched: 2, requested: 0, next_cursor: null });
    const second = await redeliver(gateway, key, { filter: {}, cursor });
    expect(second.body).toEqual({ matched: 2, requested: 1, next_cursor: null });
    expect(await Promise.all(real.map(roundOf))).toEqual([2, 2]);
  });

  it('leave a run alone that the log shows as redelivered, although its view has failed', async () => {
    const views = sqliteViews();
    const gateway = await bed.gateway({ views });
    const { org_id, key } = await bed.newTenant();
    const run = aRun(org_id);
    await fail(run);
    await views.save([await viewOf(bed, run)]);
    await appendWebhook(bed.log, redeliveryRequested(run));
    await sayCaughtUp(bed, views);
    const { body } = await redeliver(gateway, key, { filter: {} });
    expect(body).toEqual({ matched: 1, requested: 0, next_cursor: null });
  });
});

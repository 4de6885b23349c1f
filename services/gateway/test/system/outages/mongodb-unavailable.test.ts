import { privateMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openViews } from '../../fixtures/views/mongo-views.ts';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { aRun, cancelRequested, queued } from '@runledger/testing/run-events';

describe('a MongoDB that is frozen', { timeout: 90_000 }, () => {
  it('does not stop reads of runs in the log, and is used again when it resumes', async (context) => {
    await using open = new AsyncDisposableStack();
    const mongo = await privateMongo();
    if (mongo.kind === 'unavailable') return context.skip(mongo.reason);
    open.use(mongo);
    const bed = open.use(await openTestBed());
    const views = open.use(openViews(mongo.url, { readWithinMs: 300 }));
    const gateway = await bed.gateway({ views });
    // Only the views have this one.
    const old = aRun(bed.tenant.org_id);
    const save = () => views.save([aView(1, folded(queued(old), cancelRequested(old)))]);
    // The first connection may take longer than a read may; the views connect again by themselves.
    await waitFor('the view to be stored', () =>
      save().then(
        () => true,
        () => false,
      ),
    );
    const key = await queueSample(gateway, bed.tenant);
    const statusOf = async ({ run_id }: typeof key) =>
      (await call(`${gateway.api}/run/${run_id}`, bed.tenant.key)).status;
    expect(await statusOf(old)).toBe(200);

    await mongo.pause();
    await expect(views.find(old)).rejects.toThrow('no response within 300 ms');
    const during = await Promise.all(Array.from({ length: 30 }, () => statusOf(key)));
    expect(new Set(during)).toEqual(new Set([200]));
    expect(await statusOf(old)).toBe(503);
    mongo.resume();
    await waitFor('the views to be used again', async () => (await statusOf(old)) === 200);
    expect(await statusOf(key)).toBe(200);
  });
});

describe('a MongoDB that was unavailable when the gateway started', { timeout: 90_000 }, () => {
  it('is used once it is available', async (context) => {
    await using open = new AsyncDisposableStack();
    const mongo = await privateMongo();
    if (mongo.kind === 'unavailable') return context.skip(mongo.reason);
    open.use(mongo);
    await mongo.kill9();
    const views = open.use(openViews(mongo.url, { readWithinMs: 200 }));
    const run = aRun();
    // The driver has given up its first look by then, and says so.
    await waitFor('the first look to have failed', () =>
      views.find(run).then(
        () => false,
        (error: unknown) => /ECONNREFUSED|closed/.test(String(error)),
      ),
    );
    await mongo.restart();
    await waitFor('the views to be used', async () => (await views.find(run)) === undefined, {
      withinMs: 60_000,
    });
  });
});

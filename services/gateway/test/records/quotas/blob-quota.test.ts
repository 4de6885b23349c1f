import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { aRun, queued } from '@runledger/testing/run-events';
import { expect, it } from 'vitest';
import { openBlobQuota } from '../../../src/records/quotas/blob-quota.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';

const aBlob = () => jsonBlob({ id: newUuid(), text: 'x'.repeat(10_000 - '{"id":"","text":""}'.length - 36) });

it('the quota of blobs counts what this gateway stored lately, also when no run refers to it', async () => {
  await using open = new AsyncDisposableStack();
  const { log } = open.use(await aLog());
  const views = open.use(sqliteViews());
  const { blobs } = openBlobStores(log);
  let now = 0;
  let refusals = 0;
  const onRefused = () => (refusals += 1);
  const becomeFresh = async () => true;
  const quota = open.use(
    openBlobQuota({ limit: 25_000, blobs, views, becomeFresh, onRefused, clock: () => now }),
  );
  const org = orgId(newUuid());
  const [first, second] = [aBlob(), aBlob()];

  const ref = await quota.put(org, first);
  if (ref === 'over_quota') throw new Error('there is room');
  expect(await quota.put(org, second)).toMatchObject({ bytes: 10_000 });
  // At once, and none of them has a run.
  const more = await Promise.all(Array.from({ length: 5 }, () => quota.put(org, aBlob())));
  expect([new Set(more), refusals]).toEqual([new Set(['over_quota']), 5]);
  expect([await quota.used(org), await quota.used(orgId(newUuid()))]).toEqual([20_000, 0]);
  expect(await quota.put(org, second)).toMatchObject({ bytes: 10_000 });

  await views.save([aView(1, folded(queued(aRun(org), { inputs: null, inputs_blob: ref })))]);
  expect(await quota.used(org)).toBe(20_000);
  // The second one is erased by now; a run still refers to the first one.
  now += 24 * 3_600_000;
  expect(await quota.used(org)).toBe(10_000);
  expect(await quota.put(org, first)).toEqual(ref);
  expect(await quota.put(org, aBlob())).toMatchObject({ bytes: 10_000 });
  expect(await quota.put(org, aBlob())).toBe('over_quota');
  expect(await quota.put(org, first)).toEqual(ref);
});

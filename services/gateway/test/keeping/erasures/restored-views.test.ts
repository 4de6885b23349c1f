import { orgId } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { erasureRecords } from '../../../src/records/erasure.ts';
import type { RunViews } from '../../../src/views/run-views.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { forgetAll } from '../../fixtures/runs/forgotten-log.ts';
import { copyOf } from '../../fixtures/views/copied-views.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { aMarkedTenant } from './a-marked-tenant.ts';

const DAY_MS = 86_400_000;

it('an erased organisation is erased again when an older copy of the views brings its runs back', async () => {
  await using bed = await openTestBed();
  await using views = sqliteViews();
  const first = await bed.gateway({ views, projecting: true });
  const marked = await aMarkedTenant(bed, first);
  const org_id = orgId(marked.org_id);
  const runsIn = async (some: RunViews) => (await some.listRuns({ org_id, limit: 10 })).items.length;
  await waitFor('the run in the views', async () => (await runsIn(views)) === 1);
  await using copy = await copyOf(views);
  const operator = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
  const path = `/organisations/${org_id}`;
  const name = encodeURIComponent(marked.name);
  expect((await call(`${first.api}${path}?name=${name}`, operator, { method: 'DELETE' })).status).toBe(200);
  const records = erasureRecords(bed.log);
  const untilErased = async (): Promise<void> => {
    const erasure = async () => (await records.find(org_id))?.value;
    await waitFor('a pass that finds nothing', async () => typeof (await erasure())?.quiet_at === 'string');
    // As if the ten minutes had passed.
    await records.change(org_id, ({ quiet_at, ...present }) => ({
      ...present,
      quiet_at: new Date(Date.parse(quiet_at ?? '') - DAY_MS).toISOString(),
    }));
    await waitFor('the end', async () => typeof (await erasure())?.erased_at === 'string');
  };
  await untilErased();
  await first[Symbol.asyncDispose]();
  await forgetAll(bed.log);

  expect(JSON.stringify(await copy.find(marked.run))).toContain(marked.word);
  const second = await bed.gateway({ views: copy, projecting: true });
  const tombstone = async () => (await call(`${second.api}${path}/tombstone`, operator)).body;
  await waitFor('the deletion of its run', async () => (await tombstone()).erases.runs === 2);
  await untilErased();
  expect(await tombstone()).toMatchObject({ state: 'erased' });
  expect(await runsIn(copy)).toBe(0);
  expect(JSON.stringify(await copy.find(marked.run))).not.toContain(marked.word);
});

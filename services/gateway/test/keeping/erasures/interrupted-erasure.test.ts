import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { erasureRecords } from '../../../src/records/erasure.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { aMarkedTenant } from './a-marked-tenant.ts';
import { tracesOf } from './traces.ts';

const RUNS = 60;

describe('an erasure whose gateway ends in between', () => {
  it('is completed by the next one', async () => {
    await using bed = await openTestBed();
    await using views = sqliteViews();
    const idle = await bed.gateway({ views });
    const marked = await aMarkedTenant(bed, idle);
    await Promise.all(Array.from({ length: RUNS }, () => queueSample(idle, marked)));
    const operator = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
    const query = `name=${encodeURIComponent(marked.name)}`;
    const url = `${idle.api}/organisations/${marked.org_id}`;
    expect((await call(`${url}?${query}`, operator, { method: 'DELETE' })).status).toBe(200);

    const deleted = async (): Promise<number> => {
      const subjects_filter = `runs.${marked.org_id}.*.life.deleted.>`;
      const { state } = await bed.log.jsm.streams.info('RUNS', { subjects_filter });
      return Object.keys(state.subjects ?? {}).length;
    };
    const quietAt = async () => (await erasureRecords(bed.log).find(marked.org_id))?.value.quiet_at;
    const first = await bed.gateway({ projecting: true, views });
    await waitFor('the first deleted run', async () => (await deleted()) > 0);
    await first[Symbol.asyncDispose]();
    expect(await quietAt()).toBeNull();

    await bed.gateway({ projecting: true, views });
    await waitFor('a pass that finds nothing', async () => typeof (await quietAt()) === 'string');
    expect(await deleted()).toBe(RUNS + 1);
    const traces = await tracesOf(bed.log, [marked.word]);
    expect(traces.filter((trace) => !trace.startsWith('RUNS '))).toEqual([]);
  });
});

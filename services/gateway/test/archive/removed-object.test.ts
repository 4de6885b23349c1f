import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { openTestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';
import { anOutput } from '../fixtures/runs/an-output.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import { archiveAll, objectsOf } from './archived-runs.ts';

it(
  'a run whose object somebody removed has its whole result, and what only the object had is said to be gone',
  { timeout: 60_000 },
  async () => {
    await using bed = await openTestBed();
    const { log, tenant } = bed;
    const run = aRun(tenant.org_id);
    const end = await appendAll(log, queued(run), assigned(run), started(run), succeeded(run, [anOutput]));
    const gateway = await bed.gateway({ projecting: true });
    await waitFor('its view', async () => ((await gateway.views.position())?.sequence ?? 0) >= end);
    await archiveAll(log);
    await forgetAll(log);
    const read = (query = '') => call(`${gateway.api}/run/${run.run_id}${query}`, tenant.key);
    const { status, body } = await read();
    expect([status, body.status, body.outputs.length]).toEqual([200, 'success', 1]);
    expect((await read('/history')).body.entries).toHaveLength(4);

    await objectsOf(log).remove(run);
    expect(await read()).toMatchObject({ status: 200, body });
    const history = await read('/history');
    expect([history.status, history.body.status]).toEqual([200, 'success']);
    expect(history.body.entries).toMatchObject([
      { kind: 'gap', reason: 'expired', sentence: expect.stringContaining('no archive has them') },
    ]);
    for (const query of ['/history.svg', `?at_seq=${end - 1}`])
      expect([query, (await read(query)).body.code]).toEqual([query, 'run_history_expired']);
    // Where the view is lost too, nothing is left of it, and no success shows a part.
    await gateway[Symbol.asyncDispose]();
    const other = await bed.gateway({ projecting: true });
    await waitFor('views that have all that there is', async () => {
      const position = await other.views.position();
      return position?.missed === null && position.sequence >= end;
    });
    expect((await call(`${other.api}/run/${run.run_id}`, tenant.key)).status).toBe(404);
  },
);

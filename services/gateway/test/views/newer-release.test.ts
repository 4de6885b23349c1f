import { aRun, assigned, LATER_TYPE, queued, storeOfLaterType } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { openTestBed } from '../fixtures/gateway/test-bed.ts';
import { call, post } from '../fixtures/requests/requests.ts';
import { openEventSource } from '../runs/subscribe/an-event-source.ts';

it.each(['version', 'type'])(
  'does not show, stream or cancel a run with a fact of a later release: %s',
  async (what) => {
    await using bed = await openTestBed();
    const gateway = await bed.gateway();
    const { key: apiKey, org_id } = bed.tenant;
    const run = aRun(org_id);
    const last = await appendAll(bed.log, queued(run));
    await using source = await openEventSource(gateway.eventsOf(run), apiKey);
    await waitFor('the first fact', () => source.facts().length === 1);

    if (what === 'version') await appendAll(bed.log, { ...assigned(run), version: 2 });
    else await storeOfLaterType(bed.log, assigned(run), last);
    await source.ended;
    expect(source.facts()).toHaveLength(1);
    const path = `${gateway.api}/run/${run.run_id}`;
    const answers = [
      await call(path, apiKey),
      await call(`${path}?wait=1`, apiKey),
      await call(`${path}/events`, apiKey),
      await post(`${path}/cancel`, apiKey),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(503);
      expect(JSON.stringify(body)).toContain(
        `${what === 'version' ? 'RunAssigned in version 2' : `${LATER_TYPE} in version 1`} was written by a later release`,
      );
    }
  },
);

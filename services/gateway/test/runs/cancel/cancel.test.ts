import { readRun } from '@runledger/event-log/read/read-run';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { assigned, cancelled, EXECUTOR, started, uploading } from '@runledger/testing/run-events';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const cancel = (key: RunKey, at = gateway) => post(`${at.api}/run/${key.run_id}/cancel`, bed.tenant.key);
const aRunWith = async (...events: ((key: RunKey) => RunEvent)[]): Promise<RunKey> => {
  const key = await queueSample(gateway, bed.tenant);
  await appendAll(bed.log, ...events.map((event) => event(key)));
  return key;
};
const factsOf = async (key: RunKey) => {
  const read = await readRun(bed.log, key);
  return read.kind === 'found' ? read.facts.map(({ event }) => event) : [];
};

describe('cancelling', () => {
  it('ends a queued run at once and permanently', async () => {
    const key = await aRunWith();
    const { status, body } = await cancel(key);
    expect([status, body]).toEqual([200, { run_id: key.run_id, status: 'cancelled', outcome: 'cancelled' }]);
    const shown = await call(`${gateway.api}/run/${key.run_id}`, bed.tenant.key);
    expect(shown.body).toMatchObject({
      status: 'cancelled',
      finished: true,
      end_reason: 'cancelled_by_client',
      live_status: null,
    });
    await expect(appendAll(bed.log, assigned(key))).resolves.toBeGreaterThan(0);
    const after = await call(`${gateway.api}/run/${key.run_id}`, bed.tenant.key);
    expect(after.body).toEqual(shown.body);
  });

  it.each([
    ['started', [assigned]],
    ['running', [assigned, started]],
    ['uploading', [assigned, started, uploading]],
  ] as const)('asks the executor of a run that is %s, by its subject', async (status, events) => {
    const key = await aRunWith(...events.map((event) => (run: RunKey) => event(run)));
    const { body } = await cancel(key);
    expect(body).toEqual({ run_id: key.run_id, status, outcome: 'cancellation_requested' });
    const subject = `runs.${key.org_id}.${key.run_id}.life.cancel_requested.gateway.1.${EXECUTOR}`;
    const stored = await bed.log.jsm.streams.getMessage('RUNS', { last_by_subj: subject });
    expect(stored?.json()).toMatchObject({ type: 'RunCancelRequested', executor_id: EXECUTOR, attempt: 1 });
    expect((await cancel(key)).body).toEqual(body);
    const asked = (await factsOf(key)).filter(({ type }) => type === 'RunCancelRequested');
    expect(asked).toHaveLength(1);
    await appendAll(bed.log, cancelled(key));
    expect((await cancel(key)).body).toMatchObject({ status: 'cancelled', outcome: 'cancelled' });
  });

  it('accepts any body, and none', async () => {
    for (const body of [undefined, 'nonsense', '{"a":']) {
      const key = await aRunWith();
      const answer = await call(`${gateway.api}/run/${key.run_id}/cancel`, bed.tenant.key, {
        method: 'POST',
        ...(body === undefined ? {} : { body }),
      });
      expect(answer.status).toBe(200);
    }
  });
});

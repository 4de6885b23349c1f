import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { casesOf } from '@runledger/testing/random/cases';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { overEachViews } from '../../fixtures/views/over-each-views.ts';

const RUNS = casesOf(4);
/** Of a deletion beside a redelivery: their answers, and what is shown of the run afterwards. */
const ALLOWED = [
  [200, 200, 404, undefined],
  [200, 404, 404, undefined],
  [409, 200, 200, 'running'],
];
const INPUTS = { prompt: 'x'.repeat(5_000) };

overEachViews('a deletion beside another request', (here) => {
  /** Both requests at once, once for each run. A few turns of the event loop change who comes first. */
  const race = async (
    run: RunKey,
    turn: number,
    other: (run: RunKey) => Promise<ApiAnswer>,
  ): Promise<readonly [deleted: ApiAnswer, other: ApiAnswer]> => {
    const late = async (turns: number): Promise<void> => {
      for (let each = 0; each < turns; each += 1) await new Promise(setImmediate);
    };
    const deleting = late(turn % 2 === 0 ? turn : 0).then(() =>
      call(`${here.gateway.api}/run/${run.run_id}`, here.tenant.key, { method: 'DELETE' }),
    );
    return Promise.all([deleting, late(turn % 2 === 0 ? 0 : turn).then(() => other(run))]);
  };
  const request = (what: string) => (run: RunKey) =>
    post(`${here.gateway.api}/run/${run.run_id}/${what}`, here.tenant.key);
  const read = (run: { readonly run_id: string }, include = '') =>
    call(`${here.gateway.api}/run/${run.run_id}${include}`, here.tenant.key);
  /** What is shown of it, once nothing is stored any more. Each fact in the log is part of it. */
  const outcomeOf = async (run: RunKey): Promise<ApiAnswer> => {
    expect(await readRun(here.bed.log, run)).toMatchObject({ refused: [] });
    return read(run);
  };
  const endedRun = async (webhook: string | null = null): Promise<RunKey> => {
    const run = await queueSample(here.gateway, here.tenant, { webhook, inputs: INPUTS });
    await appendAll(here.bed.log, assigned(run), started(run), succeeded(run, [anOutput]));
    if (webhook !== null) await appendWebhook(here.bed.log, webhookDelivered(run));
    return run;
  };

  it('that runs it again deletes the run, and a new one has all of its inputs', async () => {
    for (let turn = 0; turn < RUNS; turn += 1) {
      const run = await endedRun();
      const [deleted, again] = await race(run, turn, request('rerun'));
      expect([deleted.status, [200, 404].includes(again.status)]).toEqual([200, true]);
      expect((await outcomeOf(run)).status).toBe(404);
      if (again.status !== 200) continue;
      const { body } = await read(again.body, '?include=inputs');
      expect([body.status, body.workflow_inputs]).toEqual(['queued', INPUTS]);
    }
  });

  it('that cancels a waiting run ends it, and deletes it if the end came first', async () => {
    for (let turn = 0; turn < RUNS; turn += 1) {
      const run = await queueSample(here.gateway, here.tenant);
      const [deleted, cancelled] = await race(run, turn, request('cancel'));
      expect(cancelled.status).toBe(200);
      expect([200, 409]).toContain(deleted.status);
      const { status, body } = await outcomeOf(run);
      expect([status, body.status]).toEqual(deleted.status === 200 ? [404, undefined] : [200, 'cancelled']);
    }
  });

  it('that cancels a run which has ended deletes it, and cancels nothing', async () => {
    for (let turn = 0; turn < RUNS; turn += 1) {
      const run = await endedRun();
      const [deleted, cancelled] = await race(run, turn, request('cancel'));
      expect([deleted.status, [200, 404].includes(cancelled.status)]).toEqual([200, true]);
      expect(cancelled.body.outcome ?? 'none').not.toBe('cancelled');
      expect((await outcomeOf(run)).status).toBe(404);
    }
  });

  it('that sends its notification again either deletes the run or waits for that', async () => {
    for (let turn = 0; turn < RUNS; turn += 1) {
      const run = await endedRun('https://hooks.example/done');
      const [deleted, redelivered] = await race(run, turn, request('redeliver'));
      const { status, body } = await outcomeOf(run);
      expect(ALLOWED).toContainEqual([deleted.status, redelivered.status, status, body.webhook_status]);
    }
  });

  it('that deletes its outputs deletes the run', async () => {
    for (let turn = 0; turn < RUNS; turn += 1) {
      const run = await endedRun();
      const outputs = (key: RunKey) =>
        call(`${here.gateway.api}/run/${key.run_id}/outputs`, here.tenant.key, { method: 'DELETE' });
      const [deleted, emptied] = await race(run, turn, outputs);
      expect([deleted.status, [200, 404].includes(emptied.status)]).toEqual([200, true]);
      expect((await outcomeOf(run)).status).toBe(404);
    }
    await waitFor('all views to be removed', async () => {
      const left = await here.gateway.views.listToErase({ after: '', limit: 10 });
      return left.every(({ run }) => run.org_id !== here.tenant.org_id);
    });
  });
});

import { newUuid } from '@runledger/contracts/ids';
import { requestViewDigests, viewDigest } from '@runledger/request-reply/view-digests';
import {
  aRun,
  assigned,
  deleted,
  outputsDeleted,
  queued,
  requeued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { readRun } from '@runledger/event-log/read/read-run';
import { expect, it } from 'vitest';
import { anImage, anOutput } from '../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../fixtures/runs/appended-facts.ts';
import { overEachViews } from '../fixtures/views/over-each-views.ts';

overEachViews('the digests of views', (here) => {
  it('are those of what the log says, whatever happened to a run', async () => {
    const { log, tenant } = here.bed;
    const own = () => aRun(tenant.org_id);
    const whole = (run: ReturnType<typeof own>, inputs = {}) => [
      queued(run, {
        webhook: 'https://example.com/hook',
        inputs: { $ref: 'a', __proto__x: null, ...inputs },
      }),
      assigned(run),
      started(run),
      succeeded(run, [{ ...anOutput, data: { images: [anImage], text: ['a'] } }]),
    ];
    const [waiting, again, ended, withoutOutputs, gone] = [own(), own(), own(), own(), own()];
    await appendAll(log, queued(waiting, { tags: ['b', 'a'], delay_s: 60 }));
    await appendAll(log, queued(again), assigned(again), started(again), requeued(again));
    await appendAll(log, ...whole(ended, { text: 'a\u0000b' }));
    await appendWebhook(log, webhookStarted(ended), webhookGivenUp(ended));
    await appendAll(log, ...whole(withoutOutputs), outputsDeleted(withoutOutputs));
    await appendAll(log, ...whole(gone), deleted(gone));
    const runs = [waiting, again, ended, withoutOutputs, gone];
    const expected = await Promise.all(
      runs.map(async (run) => {
        const read = await readRun(log, run);
        if (read.kind !== 'found' && read.kind !== 'deleted') throw new Error(`the run is ${read.kind}`);
        return {
          run_id: run.run_id,
          head: read.history.head,
          webhook_head: read.webhook?.head ?? 0,
          sha256: viewDigest(read.run, read.webhook?.state),
        };
      }),
    );
    const unknown = { org_id: tenant.org_id, run_id: newUuid() };
    const views = await waitFor('views of all of it', async () => {
      const response = await requestViewDigests(log, { runs: [...runs, unknown] }, 5_000);
      const found = new Map(response?.views.map((view) => [view.run_id, view]));
      return expected.every(({ run_id, head }) => found.get(run_id)?.head === head) && found;
    });
    expect(expected.map(({ run_id }) => views.get(run_id))).toEqual(expected);
    expect(views.size).toBe(runs.length);
  });
});

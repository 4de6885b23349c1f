import { provision } from '@runledger/event-log/provision/provision';
import { reportProgress } from '@runledger/event-log/streams/activity';
import { assigned, aRun, EXECUTOR, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestBed, openTestBedOnOwnBroker } from '../../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../../fixtures/runs/appended-facts.ts';
import { openEventSource } from '../../../runs/subscribe/an-event-source.ts';

const time = '2026-01-01T00:00:00.000Z';

describe('streams, when the broker has lost the reader of the log', () => {
  it('send what was stored meanwhile', async () => {
    await using bed = await openTestBed();
    const gateway = await bed.gateway();
    const run = aRun(bed.tenant.org_id);
    await appendAll(bed.log, queued(run));
    await using source = await openEventSource(gateway.eventsOf(run), bed.tenant.key);
    await appendAll(bed.log, assigned(run));
    await waitFor('what is there', () => source.facts().length === 2);
    const { consumers } = bed.log.jsm;
    const reader = await waitFor('its reader', async () => {
      const all = await consumers.list('RUNS').next();
      return all.length === 1 && all[0];
    });
    await consumers.delete('RUNS', reader.name);
    await appendAll(bed.log, started(run));
    await waitFor('the fact that nobody read', () => source.facts().length === 3);
  });
});

describe('streams, while the broker is killed and started again', { timeout: 60_000 }, () => {
  it('stay open, also those of a valid key, and miss and repeat nothing', async () => {
    await using bed = await openTestBedOnOwnBroker();
    const gateway = await bed.gateway();
    const runs = Array.from({ length: 20 }, () => aRun(bed.tenant.org_id));
    await Promise.all(runs.map((run) => appendAll(bed.log, queued(run))));
    await using open = new AsyncDisposableStack();
    const sources = await Promise.all(
      runs.map(async (run) => open.use(await openEventSource(gateway.eventsOf(run), bed.tenant.key))),
    );
    const all = (count: number) =>
      waitFor(`${count} facts of each`, () => sources.every((source) => source.facts().length === count));
    await all(1);
    await bed.nats.kill9();
    await bed.nats.restart();
    // Usually emitted before the gateway is back.
    await Promise.all(runs.map((run) => appendAll(bed.log, assigned(run))));
    await all(2);
    await Promise.all(runs.map((run) => appendAll(bed.log, started(run))));
    await all(3);
    await waitFor('progress', () => {
      for (const run of runs)
        reportProgress(bed.log, run, 1, EXECUTOR, { progress: 0.5, live_status: null, time });
      return sources.every((source) => source.progress().length > 0);
    });
    await bed.nats.kill9();
    await bed.nats.restart();
    await Promise.all(runs.map((run) => appendAll(bed.log, succeeded(run))));
    await Promise.all(sources.map(({ ended }) => ended));
    for (const source of sources) {
      expect(source.facts().map(({ data }) => data.status)).toEqual([
        'queued',
        'started',
        'running',
        'success',
      ]);
    }
  });

  it('end when the log was replaced', async () => {
    await using bed = await openTestBed();
    const gateway = await bed.gateway();
    const run = aRun(bed.tenant.org_id);
    await appendAll(bed.log, queued(run));
    await using source = await openEventSource(gateway.eventsOf(run), bed.tenant.key);
    await waitFor('what is there', () => source.facts().length === 1);
    await bed.log.jsm.streams.delete('RUNS');
    await provision(bed.log);
    await source.ended;
    expect(source.retry()).toBe(1_000);
    expect(source.facts()).toHaveLength(1);
  });
});

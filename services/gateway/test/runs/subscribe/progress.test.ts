import type { ProgressReport } from '@runledger/contracts/events/progress';
import { RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { lastProgress, reportProgress } from '@runledger/event-log/streams/activity';
import {
  assigned,
  aRun,
  cancelRequested,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  requeued,
  started,
  succeeded,
  uploading,
} from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openEventSource, readToEnd, type EventSourceClient } from './an-event-source.ts';

let bed: TestBed;
let gateway: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
  other = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const ownRun = () => aRun(bed.tenant.org_id);
const time = '2026-01-01T00:00:00.000Z';
const Progress = Compile(RunProgressEvent);

const report = (
  run: RunKey,
  progress: number,
  {
    attempt = 1,
    executor = EXECUTOR,
    live_status = null,
  }: Partial<ProgressReport & { attempt: number; executor: typeof EXECUTOR }> = {},
): void => reportProgress(bed.log, run, attempt, executor, { progress, live_status, time });

const lastOf = (source: EventSourceClient) => source.progress().at(-1)?.data;

const subscribeTo = (run: RunKey): Promise<EventSourceClient> =>
  openEventSource(gateway.eventsOf(run), bed.tenant.key);

describe('the progress of a run', () => {
  it('is sent without an id, at most once a second, the latest report', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    await using source = await subscribeTo(run);
    await waitFor('the facts', () => source.facts().length === 3);
    const began = performance.now();
    for (let n = 1; n <= 50; n += 1) {
      report(run, n / 100, { live_status: `sampling ${n}/100` });
      await bed.log.nc.flush();
    }
    await waitFor('the latest', () => lastOf(source)?.progress === 0.5);
    expect(lastOf(source)).toEqual({ attempt: 1, progress: 0.5, live_status: 'sampling 50/100', time });
    const seconds = (performance.now() - began) / 1_000;
    expect(source.progress().length).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
    expect(new Set(source.progress().map(({ id }) => id))).toEqual(new Set([undefined]));
    expect(source.progress().filter(({ data }) => !Progress.Check(data))).toEqual([]);
  });

  it('never goes back within an attempt, and ignores reports of other executors', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    await using source = await subscribeTo(run);
    report(run, 0.5);
    await waitFor('the progress', () => lastOf(source)?.progress === 0.5);
    report(run, 0.4);
    report(run, 0.9, { executor: OTHER_EXECUTOR });
    report(run, 0.9, { attempt: 2 });
    report(run, 0.6);
    await waitFor('more progress', () => source.progress().length === 2);
    expect(lastOf(source)).toMatchObject({ progress: 0.6 });
    await appendAll(bed.log, cancelRequested(run, 1, EXECUTOR));
    await waitFor('the next fact', () => source.facts().length === 4);
    expect(source.facts().at(-1)?.data).toMatchObject({ progress: 0, live_status: 'cancelling' });
    await using late = await openEventSource(other.eventsOf(run), bed.tenant.key);
    await waitFor('all facts elsewhere', () => late.facts().length === 4);
    expect(late.facts()).toEqual(source.facts());
    await waitFor('the progress elsewhere', () => lastOf(late)?.progress === 0.6);
  });

  it('leaves the events of facts as they are, byte for byte, when they are read again', async () => {
    const run = ownRun();
    const second = [2, OTHER_EXECUTOR] as const;
    await appendAll(bed.log, queued(run));
    await using source = await subscribeTo(run);
    const add = async (...events: Parameters<typeof appendAll>[1][]): Promise<void> => {
      await waitFor('the facts before', () => source.facts().length > 0);
      const expected = source.facts().length + events.length;
      await appendAll(bed.log, ...events);
      await waitFor('the facts', () => source.facts().length === expected);
    };
    const reported = async (progress: number, attempt: number, executor: typeof EXECUTOR): Promise<void> => {
      report(run, progress, { attempt, executor, live_status: `step ${progress}` });
      await waitFor('the progress', () => lastOf(source)?.progress === progress);
    };
    await add(assigned(run), started(run));
    await reported(0.5, 1, EXECUTOR);
    await add(requeued(run), assigned(run, { attempt: 2, executor: OTHER_EXECUTOR }));
    await reported(0.25, ...second);
    await add(started(run, ...second));
    await reported(0.75, ...second);
    await add(uploading(run, ...second));
    await appendAll(bed.log, { ...succeeded(run), attempt: 2, executor_id: OTHER_EXECUTOR });
    await source.ended;
    const texts = (read: EventSourceClient) =>
      read.facts().map(({ idText, event, dataText }) => [idText, event, dataText]);
    expect(texts(source)).toHaveLength(8);
    expect(texts(await readToEnd(other.eventsOf(run), bed.tenant.key))).toEqual(texts(source));
    const again = await readToEnd(other.eventsOf(run), bed.tenant.key, { after: 0 });
    expect(texts(again)).toEqual(texts(source));
  });

  it('is not sent after the run has ended', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    report(run, 0.5);
    await waitFor('the report to be kept', () => lastProgress(bed.log, run, 1, EXECUTOR));
    await appendAll(bed.log, succeeded(run));
    const source = await readToEnd(gateway.eventsOf(run), bed.tenant.key);
    expect(source.progress()).toEqual([]);
  });
});

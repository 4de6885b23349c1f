import { progressSubject, type ProgressReport } from '@runledger/contracts/events/progress';
import { aRun, EXECUTOR, OTHER_EXECUTOR } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { reportProgress, subscribeToProgress } from '../../../src/streams/activity.ts';
import { aLog, aLogOnOwnBroker } from '../../fixtures/test-log.ts';

const time = '2026-01-01T00:00:00.000Z';
const aReport = (progress: number): ProgressReport => ({ progress, live_status: null, time });

describe('a subscription to progress', () => {
  it('delivers the reports of every attempt of this run, and drops invalid ones', async () => {
    await using test = await aLog();
    const { log } = test;
    const run = aRun();
    const received: unknown[] = [];
    const stop = subscribeToProgress(log, run, (...report) => received.push(report));
    reportProgress(log, aRun(run.org_id), 1, EXECUTOR, aReport(0.1));
    log.nc.publish(progressSubject(run, 1, EXECUTOR), '{"progress": 7}');
    log.nc.publish(progressSubject(run, 1, EXECUTOR), 'no JSON');
    reportProgress(log, run, 1, EXECUTOR, aReport(0.2));
    reportProgress(log, run, 2, OTHER_EXECUTOR, aReport(0.3));
    await waitFor('both reports', () => received.length === 2);
    expect(received).toEqual([
      [1, EXECUTOR, aReport(0.2)],
      [2, OTHER_EXECUTOR, aReport(0.3)],
    ]);
    stop();
    reportProgress(log, run, 2, OTHER_EXECUTOR, aReport(0.4));
    await log.nc.flush();
    expect(received).toHaveLength(2);
  });

  it('continues after the broker was killed', async () => {
    await using test = await aLogOnOwnBroker();
    const run = aRun();
    const received: number[] = [];
    const stop = subscribeToProgress(test.log, run, (_attempt, _executor, { progress }) =>
      received.push(progress),
    );
    await test.nats.kill9();
    await test.nats.restart();
    await waitFor('a report', () => {
      reportProgress(test.log, run, 1, EXECUTOR, aReport(0.5));
      return received.includes(0.5);
    });
    stop();
  });
});

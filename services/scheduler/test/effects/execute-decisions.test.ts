import { describe, expect, it } from 'vitest';
import { ALL_FLEET } from '@runledger/contracts/subjects/run-subjects';
import { createMetrics } from '@runledger/service-kit/observability/metrics';
import { waitFor } from '@runledger/testing/time/wait-for';
import { executeDecisions } from '../../src/effects/execute-decisions.ts';
import type { DeclareLost } from '../../src/core/decisions/decision.ts';
import { schedulerMetrics } from '../../src/scheduler-metrics.ts';
import { workflowVersions } from '../../src/effects/workflow-versions.ts';
import { openTestScheduler, type SchedulerTestBed } from '../fixtures/a-scheduler.ts';

const attempt = async (cell: SchedulerTestBed, decision: DeclareLost) => {
  const heard: string[] = [];
  const settled: string[] = [];
  const observed = {
    queues: () => [],
    fleet: () => ({ executors: { ready: 0, draining: 0, silent: 0 }, byGpu: [] }),
    drainedNames: () => 0,
    longestSilence: () => 0,
    leading: () => true,
    now: () => undefined,
  };
  const work = executeDecisions(
    {
      log: cell.log,
      versions: workflowVersions(cell.log, 0),
      instance: 'test',
      metrics: schedulerMetrics(createMetrics('test'), observed),
      settle: (_decision, outcome) => settled.push(outcome),
      onHeartbeat: ({ executor_id }) => heard.push(executor_id),
    },
    new AbortController().signal,
  );
  work.begin([decision]);
  await work.idle();
  const last = await cell.log.jsm.streams.getMessage('FLEET', { last_by_subj: ALL_FLEET });
  return { heard, settled, lastFact: last?.subject.split('.').at(-1) };
};

describe('the loss of an executor', () => {
  it('is not told when the log holds a beat that was not heard yet', async () => {
    await using cell = await openTestScheduler();
    const { id } = await cell.executor('box');
    const decision: DeclareLost = {
      type: 'declare_lost',
      executor: id,
      lastHeartbeat: null,
      message: 'silent',
    };
    await waitFor('its first beat', async () =>
      cell.log.jsm.streams.getMessage('KV_EXECUTORS', { last_by_subj: `$KV.EXECUTORS.${id}` }),
    );
    expect(await attempt(cell, decision)).toEqual({
      heard: [id],
      settled: ['refused'],
      lastFact: 'registered',
    });
  });

  it('is a fact in FLEET when the last beat is the one that was heard', async () => {
    await using cell = await openTestScheduler();
    const executor = await cell.executor('box');
    const { id } = executor;
    const stored = () =>
      cell.log.jsm.streams.getMessage('KV_EXECUTORS', { last_by_subj: `$KV.EXECUTORS.${id}` });
    await waitFor('its first beat', stored);
    await executor.die();
    const beat = await waitFor('its last beat', stored);
    const decision: DeclareLost = {
      type: 'declare_lost',
      executor: id,
      lastHeartbeat: beat.time.toISOString(),
      message: 'silent',
    };
    expect(await attempt(cell, decision)).toEqual({ heard: [], settled: ['stored'], lastFact: 'lost' });
  });
});

import { describe, expect, it } from 'vitest';
import { ALL_FLEET } from '@runledger/contracts/events/fleet-event';
import { createMetrics } from '@runledger/service-kit/metrics';
import { waitFor } from '@runledger/testing/wait-for';
import { createScheduling } from '../src/core/scheduling.ts';
import { recentRequests } from '../src/follow-runs.ts';
import { executeDecisions } from '../src/execute-decisions.ts';
import type { DeclareLost } from '../src/core/decision.ts';
import { schedulerMetrics } from '../src/scheduler-metrics.ts';
import { openTestScheduler, type SchedulerTestBed } from './fixtures/scheduler-test-bed.ts';

const executeLoss = async (bed: SchedulerTestBed, decision: DeclareLost) => {
  const received: string[] = [];
  const settled: string[] = [];
  const metrics = schedulerMetrics(createMetrics('test'), {
    scheduling: createScheduling({
      heartbeatPeriodMs: 1,
      cancelEnforceMs: 1,
      shareOf: () => ({ weight: 1, limit: Infinity }),
    }),
    leading: () => true,
    now: () => undefined,
  });
  const work = executeDecisions(
    {
      log: bed.log,
      instance: 'test',
      term: 1,
      requests: recentRequests(),
      metrics,
      settle: (_decision, outcome) => settled.push(outcome),
      onHeartbeat: ({ executor_id }) => received.push(executor_id),
    },
    new AbortController().signal,
  );
  work.begin([decision]);
  await work.idle();
  const last = await bed.log.jsm.streams.getMessage('FLEET', { last_by_subj: ALL_FLEET });
  return { received, settled, lastFact: last?.subject.split('.').at(-1) };
};

describe('the loss of an executor', () => {
  it('is not stored when the log has a heartbeat that was not received yet', async () => {
    await using bed = await openTestScheduler();
    const { id } = await bed.executor('box');
    const decision: DeclareLost = {
      type: 'declare_lost',
      executor: id,
      lastHeartbeat: null,
      message: 'no heartbeat',
    };
    await waitFor('its first heartbeat', async () =>
      bed.log.jsm.streams.getMessage('KV_EXECUTORS', { last_by_subj: `$KV.EXECUTORS.${id}` }),
    );
    expect(await executeLoss(bed, decision)).toEqual({
      received: [id],
      settled: ['refused'],
      lastFact: 'registered',
    });
  });

  it('is a fact in FLEET when the last heartbeat is the one that was received', async () => {
    await using bed = await openTestScheduler();
    const executor = await bed.executor('box');
    const { id } = executor;
    const stored = () =>
      bed.log.jsm.streams.getMessage('KV_EXECUTORS', { last_by_subj: `$KV.EXECUTORS.${id}` });
    await waitFor('its first heartbeat', stored);
    await executor.die();
    const heartbeat = await waitFor('its last heartbeat', stored);
    const decision: DeclareLost = {
      type: 'declare_lost',
      executor: id,
      lastHeartbeat: heartbeat.time.toISOString(),
      message: 'no heartbeat',
    };
    expect(await executeLoss(bed, decision)).toEqual({ received: [], settled: ['stored'], lastFact: 'lost' });
  });
});

import { expect, it } from 'vitest';
import { gpuModel, type GpuModel } from '@runledger/contracts/gpu';
import { executorId, orgId, runId } from '@runledger/contracts/ids';
import type { QueuedRun, Run } from '@runledger/contracts/fold/run';
import type { Decision } from '../../src/core/decision.ts';
import { createScheduling } from '../../src/core/scheduling.ts';
import { runRequest } from '@runledger/testing/run-events';
import { casesOf } from '@runledger/testing/random/cases';
import { succeeded } from '../fixtures/succeeded-run.ts';

const RUNS = casesOf(20_000);
const MODELS = casesOf(4_000);
const EXECUTORS = casesOf(200);
const NOW = '2026-01-01T00:00:00.000Z';
const uuid = (n: number): string => `01920000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const ORG = orgId(uuid(1));

const queued = (number: number, gpu: GpuModel = number % 2 === 0 ? 'A10G' : 'H100'): QueuedRun => ({
  status: 'queued',
  org_id: ORG,
  run_id: runId(uuid(number)),
  number,
  request: runRequest({
    machine_id: uuid(5 + (number % 10)),
    machine_name: `farm-${number % 10}`,
    runner: { kind: 'program', program: 'render' },
    gpu,
    inputs: {},
  }),
  correlation_id: 'request-1',
  traceparent: null,
  created_at: NOW,
  queued_at: NOW,
  updated_at: NOW,
  output_bytes: 0,
  earlier_attempts: [],
  not_before: null,
  attempt: null,
});

/** The sum of the positions of all waiting runs in one queue. */
const aheadOfAll = (waiting: number): number => (waiting * (waiting - 1)) / 2;

const leading = () => {
  const scheduling = createScheduling({
    heartbeatPeriodMs: 6_000,
    shareOf: () => ({ weight: 1, limit: Infinity }),
    cancelEnforceMs: 20_000,
  });
  scheduling.take({ type: 'lead', connectedMs: 0 });
  const fact = (run: Run, head: number): readonly Decision[] =>
    scheduling.take({
      type: 'run_fact',
      key: { org_id: run.org_id, run_id: run.run_id },
      history: { head, state: run },
      event_id: null,
      writer: 'executor',
    });
  return { scheduling, fact };
};

// Work on every run for each event would exceed the time limit of the test. At night there are a hundred thousand runs.
it('tens of thousands of queued runs go through hundreds of executors in their order', () => {
  const { scheduling, fact } = leading();
  for (let number = 1; number <= RUNS; number += 1) fact(queued(number), number);

  const open: Decision[] = [];
  for (let n = 0; n < EXECUTORS; n += 1) {
    const executor_id = executorId(`box.${n}`);
    const slots = [{ slot: 0, gpu: n % 2 === 0 ? 'A10G' : 'H100' } as const];
    const registration = {
      executor_id,
      slots,
      machines: ['*'],
      programs: ['render'],
      dedicated: {},
      public_key: 'k',
    };
    scheduling.take({
      type: 'fleet_fact',
      event: {
        type: 'ExecutorRegistered',
        version: 1,
        event_id: uuid(6),
        time: NOW,
        software_version: '0',
        ...registration,
      },
      sequence: n + 1,
      time: NOW,
      connectedMs: 0,
    });
    const heartbeat = { executor_id, count: 0, draining: false, runs: [] };
    open.push(...scheduling.take({ type: 'heartbeat', heartbeat, time: NOW, connectedMs: 0 }));
  }
  let ahead = 0;
  for (let number = 1; number <= RUNS; number += 1) {
    const { org_id, run_id } = queued(number);
    ahead += scheduling.queries.queuePosition({ org_id, run_id })?.ahead ?? 0;
  }
  expect(ahead).toBe(aheadOfAll(RUNS / 2 - EXECUTORS / 2) * 2);

  const assigned: number[] = [];
  for (const decision of open) {
    if (decision.type !== 'assign') continue;
    assigned.push(decision.run.number);
    open.push(...fact(succeeded(decision.run, NOW), RUNS + assigned.length));
  }
  expect(assigned).toHaveLength(RUNS);
  for (const parity of [0, 1]) {
    const ofOneModel = assigned.filter((number) => number % 2 === parity);
    expect(ofOneModel).toEqual(ofOneModel.toSorted((a, b) => a - b));
  }
});

it('runs for very many GPU models leave no queue behind', () => {
  const { scheduling, fact } = leading();
  const runs = Array.from({ length: MODELS }, (_, n) => queued(n + 1, gpuModel(`MODEL-${n}`)));
  for (const run of runs) fact(run, run.number);
  expect([...scheduling.queues()]).toHaveLength(MODELS);
  for (const run of runs) fact(succeeded(run, NOW), MODELS + run.number);
  expect([...scheduling.queues()]).toEqual([]);
});

/**
 * Decisions of the core with a full queue: each run that ends frees a slot, which the next run gets.
 * `node scripts/run.mjs services/scheduler/bench/decisions.ts [runs] [slots] [organisations] [decisions]`
 */
import type { QueuedRun, Run } from '@runledger/contracts/fold/run';
import { executorId, orgId, runId } from '@runledger/contracts/ids';
import { runRequest } from '@runledger/testing/events/run-events';
import type { Decision } from '../src/core/decisions/decision.ts';
import { createScheduling } from '../src/core/scheduling.ts';

const RUNS = Number(process.argv[2] ?? 1_000_000);
const SLOTS = Number(process.argv[3] ?? 10_000);
const ORGANISATIONS = Number(process.argv[4] ?? 1_000);
const DECISIONS = Number(process.argv[5] ?? 200_000);
const SLOTS_OF_ONE = 8;
const NOW = '2026-01-01T00:00:00.000Z';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const uuid = (n: number): string => `01920000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

const organisations = Array.from({ length: ORGANISATIONS }, (_, n) => ({
  org_id: orgId(uuid(n)),
  request: runRequest({ deployment_id: uuid(n), inputs: {} }),
}));

const queued = (number: number): QueuedRun => {
  const { org_id, request } = organisations[number % ORGANISATIONS] as (typeof organisations)[number];
  return {
    status: 'queued',
    org_id,
    run_id: runId(uuid(number)),
    number,
    request,
    correlation_id: 'request-1',
    traceparent: null,
    created_at: NOW,
    queued_at: NOW,
    updated_at: NOW,
    output_bytes: 0,
    earlier_attempts: [],
    retry_after_s: 0,
    attempt: null,
  };
};

const succeeded = (run: QueuedRun): Run => ({
  ...run,
  status: 'success',
  end_reason: 'completed',
  started_at: NOW,
  cold_start_s: 0,
  ended_at: NOW,
  outputs: [],
  outputs_blob: null,
  deleted_outputs: null,
  error: null,
  progress: 1,
});

const scheduling = createScheduling({
  heartbeatPeriodMs: 6_000,
  cancelEnforceMs: 20_000,
  shareOf: () => ({ weight: 1, limit: Infinity }),
  instantOf: Date.parse,
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

/** Decisions that wait for their outcome. */
const open: Decision[] = [];
for (let n = 0; n * SLOTS_OF_ONE < SLOTS; n += 1) {
  const executor_id = executorId(`box.${n.toString(16).padStart(12, '0')}`);
  const slots = Array.from({ length: SLOTS_OF_ONE }, (_, slot) => ({ slot, gpu: 'A10G' as const }));
  scheduling.take({
    type: 'fleet_fact',
    event: {
      type: 'ExecutorRegistered',
      version: 1,
      event_id: uuid(n),
      executor_id,
      time: NOW,
      software_version: '0',
      slots,
      machines: ['*'],
      programs: ['render-image'],
      dedicated: {},
      public_key: 'key',
    },
    sequence: n + 1,
    time: NOW,
    connectedMs: 0,
  });
  const heartbeat = { executor_id, count: 0, draining: false, runs: [] };
  scheduling.take({ type: 'heartbeat', heartbeat, time: NOW, connectedMs: 0 });
}
for (let number = 1; number <= RUNS; number += 1) open.push(...fact(queued(number), number));

const begun = performance.now();
let decided = 0;
for (let at = 0; decided < DECISIONS; at += 1) {
  const decision = open[at];
  if (decision?.type !== 'assign') throw new Error('the queue is empty: ask for fewer decisions');
  const next = fact(succeeded(decision.run), RUNS + at + 1);
  decided += next.length;
  open.push(...next);
}
const seconds = (performance.now() - begun) / 1_000;
say(
  `${RUNS} queued runs of ${ORGANISATIONS} organisations, ${SLOTS} slots: ${Math.round(decided / seconds)} decisions a second`,
);

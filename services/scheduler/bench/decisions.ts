/**
 * Decisions of the core with a full queue: each run that ends frees a slot, which the next run gets. A decision is all of that: the fact of
 * the end is folded, the slot is freed, the next run is chosen, and it gets the slot.
 * `node scripts/run.mjs services/scheduler/bench/decisions.ts [runs, or several with commas] [slots] [organisations] [decisions]`
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import type { ExecutingRun, QueuedRun, Run } from '@runledger/contracts/fold/run';
import { executorId, orgId, runId } from '@runledger/contracts/ids';
import { runRequest } from '@runledger/testing/events/run-events';
import type { Assign, Decision } from '../src/core/decisions/decision.ts';
import { createScheduling, type Scheduling } from '../src/core/scheduling.ts';
import type { RunUpdate } from '../src/core/state/scheduler-input.ts';

const QUEUES = (process.argv[2] ?? '1000,100000,1000000').split(',').map(Number);
const SLOTS = Number(process.argv[3] ?? 10_000);
const ORGANISATIONS = Number(process.argv[4] ?? 1_000);
const DECISIONS = Number(process.argv[5] ?? 200_000);
/** Until the engine has compiled what they need. */
const WARM_UP = 50_000;
const SLOTS_OF_ONE = 8;
const NOW = '2026-01-01T00:00:00.000Z';
const START_MS = Date.parse(NOW);

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const uuid = (n: number): string => `01920000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

const EVENT = uuid(0);

const organisations = Array.from({ length: ORGANISATIONS }, (_, n) => ({
  org_id: orgId(uuid(n)),
  request: runRequest({ deployment_id: uuid(n), inputs: {} }),
}));

const queued = (number: number): QueuedRun => {
  const { org_id, request } = organisations[number % ORGANISATIONS] as (typeof organisations)[number];
  const time = new Date(START_MS + number).toISOString();
  return {
    status: 'queued',
    org_id,
    run_id: runId(uuid(number)),
    number,
    request,
    correlation_id: uuid(number),
    traceparent: `00-${number.toString(16).padStart(32, '0')}-${number.toString(16).padStart(16, '0')}-01`,
    created_at: time,
    queued_at: time,
    updated_at: time,
    output_bytes: 0,
    earlier_attempts: [],
    not_before: null,
    attempt: null,
  };
};

const started = ({ run, attempt, executor, executor_public_key, slot }: Assign): ExecutingRun => ({
  ...run,
  status: 'started',
  attempt: {
    number: attempt,
    executor_id: executor,
    slot_allocation_id: uuid(attempt),
    slot,
    executor_public_key,
    assigned_at: NOW,
  },
  cancel: null,
});

const running = (run: ExecutingRun): ExecutingRun => ({
  ...run,
  status: 'running',
  started_at: NOW,
  cold_start_s: 0,
});

const succeeded = (run: QueuedRun | ExecutingRun): Run => ({
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

const registerAll = (scheduling: Scheduling): void => {
  for (let n = 0; n * SLOTS_OF_ONE < SLOTS; n += 1) {
    const executor_id = executorId(`box.${n.toString(16).padStart(12, '0')}`);
    const slots = Array.from({ length: SLOTS_OF_ONE }, (_, slot) => ({ slot, gpu: 'A10G' as const }));
    const registration = { executor_id, slots, machines: ['*'], programs: ['render-image'], dedicated: {} };
    scheduling.take({
      type: 'fleet_fact',
      event: {
        type: 'ExecutorRegistered',
        version: 1,
        event_id: uuid(n),
        time: NOW,
        software_version: '0',
        public_key: 'key',
        ...registration,
      },
      sequence: n + 1,
      time: NOW,
      connectedMs: 0,
    });
    const heartbeat = { executor_id, count: 0, draining: false, runs: [] };
    scheduling.take({ type: 'heartbeat', heartbeat, time: NOW, connectedMs: 0 });
  }
};

/** A queue of this length, behind full slots. */
const fullQueue = (length: number) => {
  const scheduling = createScheduling({
    heartbeatPeriodMs: 6_000,
    cancelEnforceMs: 20_000,
    shareOf: () => ({ weight: 1, limit: Infinity }),
    instantOf: Date.parse,
  });
  scheduling.take({ type: 'lead', connectedMs: 0 });
  registerAll(scheduling);
  let head = 0;
  const fact = (run: Run): RunUpdate => {
    head += 1;
    const { org_id, run_id } = run;
    const history = { head, state: run };
    return { key: { org_id, run_id }, history, event_id: EVENT, writer: 'executor' };
  };
  const take = (update: RunUpdate): readonly Decision[] => scheduling.take({ type: 'run_fact', ...update });
  /** The runs in the slots, the one that has had its slot for the longest time first. */
  let assigned: Decision[] = [];
  const queue = (runs: number): void => {
    for (let n = 0; n < runs; n += 1) assigned.push(...take(fact(queued(head + 1))));
  };
  queue(SLOTS + length);
  /** So many runs end, as these facts say: what ends one frees the slot of another, which is decided then. */
  const end = (runs: number, factsOf: (assignment: Assign) => readonly Run[]): Speed => {
    const ending = assigned.slice(0, runs).map((assignment) => {
      if (assignment.type !== 'assign') throw new Error('no run has a slot: ask for more of them');
      return factsOf(assignment).map(fact);
    });
    const next: (readonly Decision[])[] = [];
    const [began, processor] = [performance.now(), process.threadCpuUsage()];
    for (const facts of ending) for (const one of facts) next.push(take(one));
    const elapsedMs = performance.now() - began;
    const { user, system } = process.threadCpuUsage(processor);
    const decided = next.flat();
    if (decided.length !== runs) throw new Error(`${decided.length} runs started in ${runs} slots`);
    assigned = [...assigned.slice(runs), ...decided];
    return { elapsedMs, processorMs: (user + system) / 1_000 };
  };
  return { queue, end };
};

interface Speed {
  readonly elapsedMs: number;
  readonly processorMs: number;
}

/** Ends runs with these facts. What makes the facts and keeps the queue at its length is not measured, nor are the first decisions. */
const measure = (length: number, factsOf: (assignment: Assign) => readonly Run[]): Speed => {
  const { queue, end } = fullQueue(length);
  const parts: Speed[] = [];
  for (let decided = -WARM_UP; decided < DECISIONS;) {
    const ending = Math.min(SLOTS, Math.ceil(length / 2), (decided < 0 ? 0 : DECISIONS) - decided);
    const part = end(ending, factsOf);
    if (decided >= 0) parts.push(part);
    queue(ending);
    decided += ending;
  }
  return parts.reduce((sum, one) => ({
    elapsedMs: sum.elapsedMs + one.elapsedMs,
    processorMs: sum.processorMs + one.processorMs,
  }));
};

const inWords = ({ elapsedMs, processorMs }: Speed): string => {
  const perSecond = (ms: number): number => Math.round((DECISIONS * 1_000) / ms);
  return `${perSecond(elapsedMs)} decisions a second (${perSecond(processorMs)} a second of its processor)`;
};

say(`${SLOTS} slots, ${ORGANISATIONS} organisations, ${DECISIONS} decisions`);
for (const length of QUEUES) {
  const decisions = measure(length, ({ run }) => [succeeded(run)]);
  say(`${length} queued runs: ${inWords(decisions)}`);
  const lifecycles = measure(length, (assignment) => {
    const assigned = started(assignment);
    const executing = running(assigned);
    return [assigned, executing, succeeded(executing)];
  });
  say(`  with the facts RunAssigned and RunStarted of each: ${inWords(lifecycles)}`);
}

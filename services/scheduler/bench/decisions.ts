/**
 * Decisions of the core with a full queue: each run that ends frees a slot, which the next run gets.
 * `node scripts/run.mjs services/scheduler/bench/decisions.ts [runs, or several with commas] [slots] [organisations] [decisions]`
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import type { ExecutingRun, QueuedRun, Run } from '@runledger/contracts/fold/run';
import { executorId, orgId, runId } from '@runledger/contracts/ids';
import { runRequest } from '@runledger/testing/events/run-events';
import type { Assign, Decision } from '../src/core/decisions/decision.ts';
import { createScheduling, type Scheduling } from '../src/core/scheduling.ts';

const QUEUES = (process.argv[2] ?? '1000,100000,1000000').split(',').map(Number);
const SLOTS = Number(process.argv[3] ?? 10_000);
const ORGANISATIONS = Number(process.argv[4] ?? 1_000);
const DECISIONS = Number(process.argv[5] ?? 200_000);
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
  const fact = (run: Run): readonly Decision[] => {
    head += 1;
    const { org_id, run_id } = run;
    const history = { head, state: run };
    return scheduling.take({
      type: 'run_fact',
      key: { org_id, run_id },
      history,
      event_id: EVENT,
      writer: 'executor',
    });
  };
  /** The runs in the slots, by turns. */
  const assigned: Decision[] = [];
  const queue = (runs: number): void => {
    for (let n = 0; n < runs; n += 1) assigned.push(...fact(queued(head + 1)));
  };
  queue(SLOTS + length);
  let turn = 0;
  /** The run that has had its slot for the longest time ends; the facts of it are the last of its decisions. */
  const end = (factsOf: (assignment: Assign) => readonly Run[]): void => {
    const assignment = assigned[turn];
    if (assignment?.type !== 'assign') throw new Error('no run has a slot: ask for more of them');
    let decisions: readonly Decision[] = [];
    for (const run of factsOf(assignment)) decisions = fact(run);
    const [next] = decisions;
    if (!next || decisions.length > 1) throw new Error(`${decisions.length} runs started in one slot`);
    assigned[turn] = next;
    turn = (turn + 1) % assigned.length;
  };
  return { queue, end };
};

interface Speed {
  readonly elapsedMs: number;
  readonly processorMs: number;
}

/** Ends runs with these facts. What keeps the queue at its length is not measured. */
const measure = (length: number, factsOf: (assignment: Assign) => readonly Run[]): Speed => {
  const { queue, end } = fullQueue(length);
  let [elapsedMs, processorUs] = [0, 0];
  for (let decided = 0; decided < DECISIONS;) {
    const ending = Math.min(Math.ceil(length / 2), DECISIONS - decided);
    const [began, processor] = [performance.now(), process.threadCpuUsage()];
    for (let n = 0; n < ending; n += 1) end(factsOf);
    elapsedMs += performance.now() - began;
    const { user, system } = process.threadCpuUsage(processor);
    processorUs += user + system;
    queue(ending);
    decided += ending;
  }
  return { elapsedMs, processorMs: processorUs / 1_000 };
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

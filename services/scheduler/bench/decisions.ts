/**
 * Decisions of the core with a full queue, which run gets a slot: alone, for slots that are free; with the fact that frees the slot, which
 * is folded first; and with all facts of each run.
 * `node scripts/run.mjs services/scheduler/bench/decisions.ts [runs, or several with commas] [slots] [organisations] [decisions]`
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import type { ExecutingRun, QueuedRun, Run } from '@runledger/contracts/fold/run';
import { executorId, orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import { runRequest } from '@runledger/testing/run-events';
import type { Assign, Decision } from '../src/core/decision.ts';
import type { ReceivedHeartbeat } from '../src/core/heartbeats.ts';
import { createScheduling, type Scheduling } from '../src/core/scheduling.ts';
import type { RunUpdate } from '../src/core/scheduler-input.ts';
import { succeeded } from '../test/fixtures/succeeded-run.ts';

const QUEUES = (process.argv[2] ?? '1000,100000,1000000').split(',').map(Number);
const SLOTS = Number(process.argv[3] ?? 10_000);
const ORGANISATIONS = Number(process.argv[4] ?? 1_000);
const DECISIONS = Number(process.argv[5] ?? 200_000);
/** Until the engine has compiled what they need. */
const WARM_UP = Math.min(DECISIONS, 50_000);
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

const executorOf = (n: number): ExecutorId => executorId(`box.${n.toString(16).padStart(12, '0')}`);

const registerAll = (scheduling: Scheduling): void => {
  for (let n = 0; n * SLOTS_OF_ONE < SLOTS; n += 1) {
    const executor_id = executorOf(n);
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
  }
};

/** Of each executor, with nothing in its slots. */
const heartbeats = (round: number): ReceivedHeartbeat[] =>
  Array.from({ length: Math.ceil(SLOTS / SLOTS_OF_ONE) }, (_, n) => ({
    heartbeat: { executor_id: executorOf(n), count: round, draining: false, runs: [] },
    time: new Date(START_MS + round).toISOString(),
    connectedMs: 0,
  }));

/** A queue of this length, behind full slots. */
const fullQueue = (length: number) => {
  const scheduling = createScheduling({
    heartbeatPeriodMs: 6_000,
    cancelEnforceMs: 20_000,
    shareOf: () => ({ weight: 1, limit: Infinity }),
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
  const endsOf = (ending: readonly Decision[], factsOf: FactsOf): RunUpdate[] =>
    ending.flatMap((assignment) => {
      if (assignment.type !== 'assign') throw new Error('no run has a slot: ask for more of them');
      return factsOf(assignment).map(fact);
    });
  /** So many runs end, as these facts say: what ends one frees the slot of another, which is decided then. */
  const end = (runs: number, factsOf: FactsOf): Speed => {
    const facts = endsOf(assigned.slice(0, runs), factsOf);
    const { speed, decided } = timed(facts, take);
    if (decided.length !== runs) throw new Error(`${decided.length} runs started in ${runs} slots`);
    assigned = [...assigned.slice(runs), ...decided];
    queue(runs);
    return speed;
  };
  let round = 0;
  /** All runs with a slot end while nobody leads, and then each executor gets runs for its slots. */
  const refill = (): Speed => {
    scheduling.take({ type: 'stand_by' });
    for (const one of endsOf(assigned, ({ run }) => [succeeded(run, NOW)])) take(one);
    queue(assigned.length);
    scheduling.take({ type: 'lead', connectedMs: 0 });
    round += 1;
    const { speed, decided } = timed(heartbeats(round), (one) =>
      scheduling.take({ type: 'heartbeat', ...one }),
    );
    if (decided.length !== SLOTS) throw new Error(`${decided.length} runs started in ${SLOTS} slots`);
    assigned = decided;
    return speed;
  };
  refill();
  return { end, refill };
};

type FactsOf = (assignment: Assign) => readonly Run[];

interface Speed {
  readonly decisions: number;
  readonly elapsedMs: number;
  readonly processorMs: number;
}

const timed = <Input>(
  inputs: readonly Input[],
  take: (input: Input) => readonly Decision[],
): { readonly speed: Speed; readonly decided: Decision[] } => {
  const taken: (readonly Decision[])[] = [];
  const [began, processor] = [performance.now(), process.threadCpuUsage()];
  for (const input of inputs) taken.push(take(input));
  const elapsedMs = performance.now() - began;
  const { user, system } = process.threadCpuUsage(processor);
  const decided = taken.flat();
  return { speed: { decisions: decided.length, elapsedMs, processorMs: (user + system) / 1_000 }, decided };
};

/** What makes the facts, and what keeps the queue at its length, is not measured, nor are the first decisions. */
const measure = (part: () => Speed): Speed => {
  for (let decided = 0; decided < WARM_UP;) decided += part().decisions;
  const total = { decisions: 0, elapsedMs: 0, processorMs: 0 };
  while (total.decisions < DECISIONS) {
    const { decisions, elapsedMs, processorMs } = part();
    total.decisions += decisions;
    total.elapsedMs += elapsedMs;
    total.processorMs += processorMs;
  }
  return total;
};

const inWords = ({ decisions, elapsedMs, processorMs }: Speed): string => {
  const perSecond = (ms: number): number => Math.round((decisions * 1_000) / ms);
  return `${perSecond(elapsedMs)} decisions a second (${perSecond(processorMs)} a second of its processor)`;
};

say(`${SLOTS} slots, ${ORGANISATIONS} organisations, at least ${DECISIONS} decisions`);
for (const length of QUEUES) {
  const { end, refill } = fullQueue(length);
  const ending = Math.min(SLOTS, Math.ceil(length / 2));
  say(`${length} queued runs`);
  say(`  alone, for free slots: ${inWords(measure(refill))}`);
  const ends = measure(() => end(ending, ({ run }) => [succeeded(run, NOW)]));
  say(`  with the fact that frees the slot: ${inWords(ends)}`);
  const lifecycles = measure(() =>
    end(ending, (assignment) => {
      const assigned = started(assignment);
      const executing = running(assigned);
      return [assigned, executing, succeeded(executing, NOW)];
    }),
  );
  say(`  with all facts of each run: ${inWords(lifecycles)}`);
}

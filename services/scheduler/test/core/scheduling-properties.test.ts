import { isEnded, isExecuting } from '@runledger/contracts/fold/run';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../../src/core/decision.ts';
import type { OrgShare } from '../../src/core/runs/fair-queue.ts';
import { judgeFacts } from '@runledger/testing/invariants';
import { CoreJudge } from '../../invariants/core-judge.ts';
import { QueryInvariants } from './query-invariants.ts';
import { ORG, orgOf, PERIOD_MS, TestBed } from './test-bed.ts';

const EXECUTORS = ['a', 'b', 'c', 'd'] as const;
const gpu = fc.constantFrom('A10G', 'H100');
const anyGpu = fc.constantFrom('A10G', 'A10G', 'H100', 'H100', 'L4', 'T4');
const program = fc.constantFrom('render', 'train');
/** In order, and of models other than the first one. */
const fallbacks = fc.uniqueArray(fc.constantFrom('L4', 'T4'), { maxLength: 2 }).chain((models) =>
  fc.tuple(...models.map(() => fc.constantFrom(0, 0, 3, 900))).map((times) => {
    const inOrder = times.toSorted((one, other) => one - other);
    return models.map((model, at) => ({ gpu: model, after_s: inOrder[at] ?? 0 }));
  }),
);
const label = fc.constantFrom('nvlink', 'zone:eu');
const any = fc.nat({ max: 1_000 });

/**
 * One step of a random history: anything that may be given to a scheduler, also what no log and no honest executor gives it, which the
 * simulator has no process for: heartbeats that list nothing, messages that belong to no run, decisions that fail. So it has a generator
 * of its own; what is judged is the same.
 */
const simulatedStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('queue'),
      gpu,
      program,
      attempts: fc.integer({ min: 1, max: 3 }),
      seconds: fc.constantFrom(5, 1_000),
      org: fc.constantFrom(ORG, orgOf(1), orgOf(2)),
      deployment: fc.nat({ max: 1 }),
      key: fc.constantFrom(undefined, undefined, 'a', 'b'),
      fallbacks: fc.option(fallbacks, { nil: undefined, freq: 1 }),
      delay: fc.constantFrom(undefined, undefined, undefined, 0.5, 6),
      version: fc.nat({ max: 1 }),
      warmWaitS: fc.constantFrom(undefined, 2, 60),
      labels: fc.option(fc.uniqueArray(label, { minLength: 1 }), { nil: undefined, freq: 2 }),
      priority: fc.constantFrom(undefined, undefined, -1, 1, 100),
      limit: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined, freq: 2 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('register'),
      any,
      gpus: fc.array(anyGpu, { minLength: 1, maxLength: 3 }),
      programs: fc.uniqueArray(program, { minLength: 1 }),
      labels: fc.uniqueArray(label),
      dedicated: fc.dictionary(program, fc.constantFrom([], [ORG]), { maxKeys: 1 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      what: fc.constant('heartbeat'),
      any,
      honest: fc.boolean(),
      loaded: fc.option(fc.array(fc.constantFrom(0, 1, null), { minLength: 3, maxLength: 3 }), {
        nil: undefined,
      }),
      prepared: fc.subarray([0, 1]),
    }),
  },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('tick'), ms: fc.integer({ min: 1, max: 4_000 }) }) },
  { weight: 12, arbitrary: fc.record({ what: fc.constant('settle'), any }) },
  { weight: 12, arbitrary: fc.record({ what: fc.constant('deliver'), any }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('fail'), any }) },
  {
    weight: 8,
    arbitrary: fc.record({ what: fc.constantFrom('start', 'succeed', 'cancel', 'forge', 'read again'), any }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('leave', 'drain'), any }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constantFrom('request drain', 'request resume'), any }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('reconnect', 'slow', 'take over') }) },
);
/** The second organisation may hold a slot at most. */
const LIMITED = orgOf(2);
const weight = fc.constantFrom(0.5, 1, 1, 3);
const weights = fc.record({
  organisations: fc.tuple(weight, weight, weight),
  deployments: fc.tuple(weight, weight),
});
type Weights = typeof weights extends fc.Arbitrary<infer Of> ? Of : never;

type SimulatedStep = typeof simulatedStep extends fc.Arbitrary<infer Of> ? Of : never;

const pick = <Of>(from: readonly Of[], any: number): Of | undefined => from[any % Math.max(from.length, 1)];

const simulate = (
  simulation: TestBed,
  step: SimulatedStep,
  { deployments }: Pick<Weights, 'deployments'>,
): void => {
  if ('seconds' in step) {
    const {
      gpu,
      program,
      org,
      deployment,
      limit,
      priority,
      key,
      delay,
      labels,
      fallbacks: later,
      version,
      warmWaitS,
    } = step;
    return simulation.queue(`run-${simulation.sequence}`, {
      gpu,
      program,
      org,
      deployment,
      weight: deployments[deployment] ?? 1,
      ...(limit === undefined ? {} : { concurrencyLimit: limit }),
      ...(priority === undefined ? {} : { priority }),
      ...(key === undefined ? {} : { key }),
      ...(delay === undefined ? {} : { delayS: delay }),
      version,
      ...(warmWaitS && { warmWaitS }),
      ...(labels && { labels }),
      ...(later && later.length > 0 && { fallbacks: later }),
      maxAttempts: step.attempts,
      startDeadlineS: step.seconds,
      runTimeoutS: step.seconds,
    });
  }
  if ('gpus' in step)
    return simulation.register(pick(EXECUTORS, step.any) ?? 'a', {
      gpus: step.gpus,
      programs: step.programs,
      labels: step.labels,
      dedicated: step.dedicated,
    });
  if ('ms' in step) return simulation.tickAfter(step.ms);
  if ('honest' in step) {
    const name = pick([...simulation.executorIds.keys()], step.any);
    if (name === undefined) return;
    simulation.prepared.set(name, step.prepared);
    simulation.heartbeat(name, step.honest ? simulation.listed(name) : [], step.loaded);
    return;
  }
  if ('any' in step) return simulateOnOne(simulation, step);
  if (step.what === 'take over') {
    simulation.standBy();
    // The other process does not execute its decisions.
    simulation.open = [];
    simulation.deliver();
    return simulation.lead();
  }
  simulation.reset(step.what === 'slow' ? 'slow_round_trip' : 'reconnect');
};

const simulateOnOne = (
  simulation: TestBed,
  { what, any }: { readonly what: string; readonly any: number },
): void => {
  if (what === 'deliver') return simulation.deliver(1 + (any % 4));
  if (what === 'settle') {
    const decision = pick(simulation.open, any);
    return decision && simulation.settle(decision);
  }
  if (what === 'fail') {
    const decision = pick(simulation.open, any);
    return decision && decision.type !== 'declare_lost' ? simulation.fail(decision) : undefined;
  }
  if (what === 'leave' || what === 'drain') {
    const name = pick([...simulation.executorIds.keys()], any);
    return name === undefined ? undefined : simulation[what](name);
  }
  // Also for names without an executor.
  if (what === 'request drain') return simulation.requestDrain(pick(EXECUTORS, any) ?? 'a');
  if (what === 'request resume') return simulation.requestResume(pick(EXECUTORS, any) ?? 'a');
  const possible = [...simulation.histories].filter(([, { state: run }]) => {
    if (!run) return false;
    if (what === 'read again') return !isEnded(run);
    if (what === 'start') return run.status === 'started' && !run.cancel;
    if (what === 'succeed') return run.status === 'running' && !run.cancel;
    if (what === 'cancel') return run.status === 'queued' || (isExecuting(run) && !run.cancel);
    return true;
  });
  const name = pick(possible, any)?.[0];
  if (name === undefined) return;
  if (what === 'read again') return simulation.readAgain(name);
  if (what === 'start') simulation.start(name);
  else if (what === 'succeed') simulation.succeed(name);
  else if (what === 'cancel') simulation.requestCancel(name);
  else simulation.forge(name);
};

const violate = (check: string, what: string): never => {
  throw new Error(`${check}: ${what}`);
};

const HISTORIES = casesOf(150);

const RENDER = {
  what: 'queue',
  program: 'render',
  attempts: 1,
  seconds: 5,
  org: ORG,
  deployment: 0,
  key: undefined,
  fallbacks: undefined,
  delay: undefined,
  version: 0,
  warmWaitS: undefined,
  labels: undefined,
  priority: undefined,
} as const;
/** The run whose version has no limit is assigned second and stored first. */
const LIMIT_OF_ONE_VERSION: SimulatedStep[] = [
  { ...RENDER, gpu: 'A10G', limit: undefined },
  { ...RENDER, gpu: 'H100', limit: 1 },
  { what: 'register', any: 0, gpus: ['H100', 'A10G'], programs: ['render'], labels: [], dedicated: {} },
  { what: 'deliver', any: 21 },
  { what: 'deliver', any: 0 },
  { what: 'heartbeat', any: 0, honest: false, loaded: undefined, prepared: [] },
  { what: 'settle', any: 381 },
  { what: 'settle', any: 0 },
];

// At night it computes for a quarter of a minute, and longer where others compute too.
describe('a random history', { timeout: 240_000 }, () => {
  it('keeps the invariants: one run for each slot, one decision for each head, no run waits for a free slot, no executor with heartbeats is lost', () => {
    let assigned = 0;
    let lost = 0;
    fc.assert(
      fc.property(fc.array(simulatedStep, { maxLength: 150, size: 'max' }), weights, (steps, given) => {
        const shares = new Map<string, OrgShare>(
          [ORG, orgOf(1), LIMITED].map((org, n) => [
            org,
            { weight: given.organisations[n] ?? 1, limit: org === LIMITED ? 1 : Infinity },
          ]),
        );
        const simulation = new TestBed(shares);
        const { scheduling } = simulation;
        const shareOf = (org: string): OrgShare => shares.get(org) ?? { weight: 1, limit: Infinity };
        const about = { nameOf: (id: string) => id, violate };
        const judge = new CoreJudge({
          scheduling,
          shareOf,
          heartbeatPeriodMs: PERIOD_MS,
          instantOf: Date.parse,
          ...about,
        });
        const queries = new QueryInvariants(simulation, judge, shareOf);
        simulation.onStored = judgeFacts({
          ...about,
          limitOf: (org) => shareOf(org).limit,
          isLost: () => false,
          isVoid: () => false,
          isWhole: () => true,
        });
        simulation.onDecided = (input, decisions) => {
          judge.onInput(input, decisions);
          queries.check();
          for (const { type } of decisions) {
            if (type === 'assign') assigned += 1;
            if (type === 'declare_lost') lost += 1;
          }
        };
        simulation.lead();
        simulation.undelivered = [];
        for (const step of steps) simulate(simulation, step, given);
      }),
      {
        numRuns: HISTORIES,
        examples: [[LIMIT_OF_ONE_VERSION, { organisations: [1, 1, 1], deployments: [1, 1] }]],
      },
    );
    // The histories reach the situations that matter.
    expect(assigned).toBeGreaterThan(0.6 * HISTORIES);
    expect(lost).toBeGreaterThan(0.02 * HISTORIES);
  });

  it('gives the same decisions for the same inputs', () => {
    fc.assert(
      fc.property(fc.array(simulatedStep, { maxLength: 80, size: 'max' }), (steps) => {
        const decisions = [1, 2].map(() => {
          const simulation = new TestBed();
          const all: Decision[] = [];
          simulation.onDecided = (_input, decided) => void all.push(...decided);
          simulation.lead();
          for (const step of steps) simulate(simulation, step, { deployments: [1, 1] });
          return all;
        });
        expect(decisions[0]).toEqual(decisions[1]);
      }),
      { numRuns: casesOf(10) },
    );
  });
});

import { isEnded, isExecuting } from '@runledger/contracts/fold/run';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../../src/core/decisions/decision.ts';
import { Invariants } from './invariants.ts';
import { World } from './world.ts';

const EXECUTORS = ['a', 'b', 'c', 'd'] as const;
const gpu = fc.constantFrom('A10G', 'H100');
const program = fc.constantFrom('render', 'train');
const any = fc.nat({ max: 1_000 });

/** Anything that may happen to a scheduler, in any order. */
const happening = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('queue'),
      gpu,
      program,
      attempts: fc.integer({ min: 1, max: 3 }),
      seconds: fc.constantFrom(5, 1_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('register'),
      any,
      gpus: fc.array(gpu, { minLength: 1, maxLength: 3 }),
      programs: fc.uniqueArray(program, { minLength: 1 }),
    }),
  },
  { weight: 10, arbitrary: fc.record({ what: fc.constant('beat'), any, honest: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('tick'), ms: fc.integer({ min: 1, max: 4_000 }) }) },
  { weight: 12, arbitrary: fc.record({ what: fc.constant('settle'), any }) },
  { weight: 12, arbitrary: fc.record({ what: fc.constant('deliver'), any }) },
  {
    weight: 8,
    arbitrary: fc.record({ what: fc.constantFrom('start', 'succeed', 'cancel', 'forge', 'read again'), any }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('leave', 'drain'), any }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constantFrom('request drain', 'request resume'), any }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('reconnect', 'slow', 'take over') }) },
);
type Happening = typeof happening extends fc.Arbitrary<infer Of> ? Of : never;

const pick = <Of>(from: readonly Of[], any: number): Of | undefined => from[any % Math.max(from.length, 1)];

const happen = (world: World, it: Happening): void => {
  if ('seconds' in it) {
    const wish = { gpu: it.gpu, program: it.program, maxAttempts: it.attempts } as const;
    return world.queue(`run-${world.sequence}`, {
      ...wish,
      startDeadlineS: it.seconds,
      runTimeoutS: it.seconds,
    });
  }
  if ('gpus' in it)
    return world.register(pick(EXECUTORS, it.any) ?? 'a', { gpus: it.gpus, programs: it.programs });
  if ('ms' in it) return world.tickAfter(it.ms);
  if ('honest' in it) {
    const name = pick([...world.executorIds.keys()], it.any);
    if (name !== undefined) world.beat(name, it.honest ? world.listed(name) : []);
    return;
  }
  if ('any' in it) return happenToOne(world, it);
  if (it.what === 'take over') {
    world.standBy();
    // What another process was about to do is not done.
    world.open = [];
    world.deliver();
    return world.lead();
  }
  world.reset(it.what === 'slow' ? 'slow_round_trip' : 'reconnect');
};

const happenToOne = (world: World, { what, any }: { readonly what: string; readonly any: number }): void => {
  if (what === 'deliver') return world.deliver(1 + (any % 4));
  if (what === 'settle') {
    const decision = pick(world.open, any);
    return decision && world.settle(decision);
  }
  if (what === 'leave' || what === 'drain') {
    const name = pick([...world.executorIds.keys()], any);
    return name === undefined ? undefined : world[what](name);
  }
  // Also of names that nobody bears yet.
  if (what === 'request drain') return world.requestDrain(pick(EXECUTORS, any) ?? 'a');
  if (what === 'request resume') return world.requestResume(pick(EXECUTORS, any) ?? 'a');
  const possible = [...world.histories].filter(([, { state: run }]) => {
    if (!run) return false;
    if (what === 'read again') return !isEnded(run);
    if (what === 'start') return run.status === 'started' && !run.cancel;
    if (what === 'succeed') return run.status === 'running' && !run.cancel;
    if (what === 'cancel') return run.status === 'queued' || (isExecuting(run) && !run.cancel);
    return true;
  });
  const name = pick(possible, any)?.[0];
  if (name === undefined) return;
  if (what === 'read again') return world.readAgain(name);
  if (what === 'start') world.start(name);
  else if (what === 'succeed') world.succeed(name);
  else if (what === 'cancel') world.requestCancel(name);
  else world.forge(name);
};

describe('whatever happens, in whatever order', () => {
  it('no slot holds two runs, no head is decided on twice, no run waits for a free slot, no executor with heartbeats is lost', () => {
    let assigned = 0;
    let lost = 0;
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 150, size: 'max' }), (happenings) => {
        const world = new World();
        const watch = new Invariants(world);
        world.lead();
        world.undelivered = [];
        world.onDecided = (input, decisions) => watch.saw(input, decisions);
        for (const it of happenings) happen(world, it);
        assigned += watch.assigned;
        lost += watch.lost;
      }),
      { numRuns: 500 },
    );
    // The histories were worth looking at.
    expect(assigned).toBeGreaterThan(300);
    expect(lost).toBeGreaterThan(30);
  });

  it('decides the same for the same inputs', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 80, size: 'max' }), (happenings) => {
        const decisions = [1, 2].map(() => {
          const world = new World();
          const all: Decision[] = [];
          world.onDecided = (_input, decided) => void all.push(...decided);
          world.lead();
          for (const it of happenings) happen(world, it);
          return all;
        });
        expect(decisions[0]).toEqual(decisions[1]);
      }),
      { numRuns: 50 },
    );
  });
});

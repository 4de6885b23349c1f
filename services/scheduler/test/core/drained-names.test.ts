import type { ExecutorState, ExecutorsRequest } from '@runledger/contracts/requests/executor-state';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { given, OPERATOR, World, type Step } from './world.ts';

const executor =
  (name: string): Step =>
  (world) => {
    world.register(name);
    world.beat(name);
  };
const queued =
  (run: string): Step =>
  (world) =>
    world.queue(run);
const drained =
  (name: string): Step =>
  (world) =>
    world.requestDrain(name);
const resumed =
  (name: string): Step =>
  (world) =>
    world.requestResume(name);

const assigned = (run: string, to: string): string => `${run} is assigned to ${to} slot 0, attempt 1`;

describe('a drained name', () => {
  it('gets no runs', () => expect(given(executor('box'), drained('box')).when(queued('one'))).toEqual([]));

  it('gets none when its executor starts again, nor when it starts for the first time', () => {
    expect(given(drained('box'), executor('box')).when(queued('one'))).toEqual([]);
    const again: Step = (world) => {
      world.leave('box');
      world.register('box');
      world.beat('box');
    };
    expect(given(executor('box'), drained('box'), again).when(queued('one'))).toEqual([]);
  });

  it('gets none when its executor was lost and returns', () =>
    expect(
      given(executor('box'), (world) => {
        world.beat('box');
        world.lose('box');
        world.requestDrain('box');
        world.beat('box');
        world.beat('box');
      }).when(queued('one')),
    ).toEqual([]));

  it('leaves its runs to others', () =>
    expect(given(executor('a'), executor('b'), drained('a')).when(queued('one'))).toEqual([
      assigned('one', 'b'),
    ]));

  it('does not stop the runs that execute there', () => {
    const world = new World();
    world.lead();
    for (const step of [executor('box'), queued('one')]) step(world);
    world.settleAll();
    world.start('one');
    world.requestDrain('box');
    world.pass(20_000, { beating: ['box'] });
    expect(world.last).toEqual([]);
    world.succeed('one');
    expect(world.run('one')?.status).toBe('success');
  });

  it('gets the runs that wait when it is resumed', () =>
    expect(given(executor('box'), drained('box'), queued('one')).when(resumed('box'))).toEqual([
      assigned('one', 'box'),
    ]));

  it('is not resumed by an executor that stops draining: the two are apart', () => {
    const stopping: Step = (world) => world.drain('box');
    const anew: Step = (world) => world.register('box');
    expect(given(executor('box'), drained('box'), stopping, anew).when(queued('one'))).toEqual([]);
    expect(given(executor('box'), stopping, drained('box'), resumed('box')).when(queued('one'))).toEqual([]);
  });

  it('is drained however often the request is read', () =>
    expect(
      given(executor('box'), drained('box'), drained('box'), resumed('box')).when(queued('one')),
    ).toEqual([assigned('one', 'box')]));

  it('is not drained by a request that arrives late, after the one that resumed it', () =>
    expect(
      given(executor('box'), (world) => {
        world.requestResume('box', { sequence: 20 });
        world.requestDrain('box', { sequence: 10 });
      }).when(queued('one')),
    ).toEqual([assigned('one', 'box')]));
});

describe('requests for names', () => {
  const names = ['a', 'b', 'c'] as const;
  const request = fc.record({ name: fc.constantFrom(...names), drain: fc.boolean() });

  it('count by their position in the log, in whatever order and however often they are read', () => {
    const told = fc
      .array(request, { minLength: 1, maxLength: 12 })
      .chain((requests) =>
        fc.tuple(
          fc.constant(requests),
          fc.shuffledSubarray([...requests.keys(), ...requests.keys()], { minLength: requests.length * 2 }),
        ),
      );
    fc.assert(
      fc.property(told, ([requests, order]) => {
        const world = new World();
        world.lead();
        for (const name of names) executor(name)(world);
        for (const place of order) {
          const asked = requests[place];
          if (asked?.drain) world.requestDrain(asked.name, { sequence: 100 + place });
          else if (asked) world.requestResume(asked.name, { sequence: 100 + place });
        }
        for (const name of names) {
          const last = requests.findLast((asked) => asked.name === name);
          expect(statesOf(world).find((state) => state.name === name)?.drain === null).toBe(!last?.drain);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('leave nothing behind: names that are drained and resumed in any order get runs as before', () => {
    const orders = fc.tuple(
      fc.shuffledSubarray([...names], { minLength: 3 }),
      fc.shuffledSubarray([...names], { minLength: 3 }),
      fc.integer({ min: 0, max: 5 }),
    );
    fc.assert(
      fc.property(orders, ([drains, resumes, runs]) => {
        const world = new World();
        world.lead();
        const decided: string[] = [];
        world.onDecided = (_input, decisions) => {
          for (const decision of decisions) {
            if (decision.type === 'assign') decided.push(world.nameOf(decision.key));
          }
        };
        for (const name of names) executor(name)(world);
        for (const name of drains) world.requestDrain(name);
        for (let run = 0; run < runs; run += 1) world.queue(`run ${run}`);
        expect(decided).toEqual([]);
        for (const name of resumes) world.requestResume(name);
        expect(decided).toEqual(Array.from({ length: Math.min(runs, 3) }, (_, run) => `run ${run}`));
      }),
      { numRuns: 100 },
    );
  });
});

const ALL: ExecutorsRequest = { name: null, after: null, limit: 200 };
const statesOf = (world: World, question: Partial<ExecutorsRequest> = {}): ExecutorState[] =>
  world.scheduling.queries.executors({ ...ALL, ...question }).executors;

describe('the state of executors', () => {
  it('has what they registered, what they execute, and their last heartbeat', () => {
    const world = new World();
    world.lead();
    world.register('box', { gpus: ['A10G', 'H100'], machines: ['farm'] });
    world.beat('box');
    world.queue('one');
    const slots = (): ExecutorState['slots'] | undefined => statesOf(world)[0]?.slots;
    // It is promised, and no fact yet.
    expect(slots()?.map(({ run }) => run)).toEqual([null, null]);
    world.settleAll();
    const started = world.run('one');
    expect(statesOf(world)).toEqual([
      {
        executor_id: 'box.0a1b2c3d4e5f',
        name: 'box',
        state: 'ready',
        drain: null,
        slots: [
          {
            slot: 0,
            gpu: 'A10G',
            run: { ...world.key('one'), attempt: 1, assigned_at: started?.attempt?.assigned_at },
          },
          { slot: 1, gpu: 'H100', run: null },
        ],
        machines: ['farm'],
        machine_count: 1,
        programs: ['render'],
        program_count: 1,
        software_version: '0.1.0',
        registered_at: '2026-01-01T00:00:00.000Z',
        last_beat_at: 'beat 1',
      },
    ]);
  });

  it('is unresponsive until the next heartbeat', () => {
    const world = new World();
    const state = (): string | undefined => statesOf(world)[0]?.state;
    world.register('box');
    expect(state()).toBe('unresponsive');
    world.beat('box');
    expect(state()).toBe('ready');
    world.pass(3_500);
    expect(state()).toBe('unresponsive');
    world.beat('box');
    expect(state()).toBe('ready');
    world.drain('box');
    expect(state()).toBe('draining');
    world.pass(3_500);
    expect(state()).toBe('unresponsive');
  });

  it('has who drained their name, also while no executor has it', () => {
    const world = new World();
    const drain = { requested_at: '2026-01-01T00:00:00.000Z', requested_by: OPERATOR };
    world.requestDrain('box');
    expect(statesOf(world)).toMatchObject([
      { executor_id: null, name: 'box', state: 'absent', slots: [], drain },
    ]);
    executor('box')(world);
    expect(statesOf(world)).toMatchObject([{ executor_id: 'box.0a1b2c3d4e5f', state: 'draining', drain }]);
    world.requestResume('box');
    expect(statesOf(world)).toMatchObject([{ state: 'ready', drain: null }]);
    world.leave('box');
    expect(statesOf(world)).toEqual([]);
  });

  it('comes in pages, by name and then by id', () => {
    const world = new World();
    for (const name of ['c', 'a', 'b']) world.register(name);
    world.registerAs('a', 'a.000000000000');
    world.requestDrain('aa');
    const seen: (string | null)[] = [];
    let after: ExecutorsRequest['after'] = null;
    for (let pages = 1; ; pages += 1) {
      const { executors, more } = world.scheduling.queries.executors({ name: null, after, limit: 2 });
      seen.push(...executors.map(({ executor_id }) => executor_id));
      const last = executors.at(-1);
      after = last ? { name: last.name, executor_id: last.executor_id } : null;
      if (more) continue;
      expect(pages).toBe(3);
      break;
    }
    expect(seen).toEqual(['a.000000000000', 'a.0a1b2c3d4e5f', null, 'b.0a1b2c3d4e5f', 'c.0a1b2c3d4e5f']);
    expect(statesOf(world, { name: 'a' }).map(({ executor_id }) => executor_id)).toEqual([
      'a.000000000000',
      'a.0a1b2c3d4e5f',
    ]);
    expect(statesOf(world, { name: 'nobody' })).toEqual([]);
  });
});

describe('why a run waits', () => {
  it('is given in counts', () => {
    const world = new World();
    world.lead();
    for (const name of ['a', 'b', 'c']) executor(name)(world);
    world.register('other', { programs: ['train'] });
    world.queue('one');
    world.settleAll();
    const on = world.run('one')?.attempt?.executor_id ?? '';
    for (const name of ['a', 'b', 'c']) if (world.id(name) !== on) world.requestDrain(name);
    world.queue('two');
    world.queue('three');
    expect(world.scheduling.queries.waitReason(world.key('three'))).toEqual({
      ahead: 1,
      capacity: 'busy',
      gpu: 'A10G',
      executors: { serving: 1, busy_slots: 1, free_slots: 0, draining: 2 },
    });
    expect(world.scheduling.queries.waitReason(world.key('one'))).toBeUndefined();
  });
});

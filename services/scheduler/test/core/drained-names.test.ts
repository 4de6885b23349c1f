import type { ExecutorState, ExecutorsRequest } from '@runledger/contracts/requests/executor-state';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { given, OPERATOR, TestBed, type Step } from './test-bed.ts';

const executor =
  (name: string): Step =>
  (bed) => {
    bed.register(name);
    bed.heartbeat(name);
  };
const queued =
  (run: string): Step =>
  (bed) =>
    bed.queue(run);
const drained =
  (name: string): Step =>
  (bed) =>
    bed.requestDrain(name);
const resumed =
  (name: string): Step =>
  (bed) =>
    bed.requestResume(name);

const assigned = (run: string, to: string): string => `${run} is assigned to ${to} slot 0, attempt 1`;

describe('a drained name', () => {
  it('gets no runs', () => expect(given(executor('box'), drained('box')).when(queued('one'))).toEqual([]));

  it('gets none when its executor starts again, nor when it starts for the first time', () => {
    expect(given(drained('box'), executor('box')).when(queued('one'))).toEqual([]);
    const again: Step = (bed) => {
      bed.leave('box');
      bed.register('box');
      bed.heartbeat('box');
    };
    expect(given(executor('box'), drained('box'), again).when(queued('one'))).toEqual([]);
  });

  it('gets none when its executor was lost and returns', () =>
    expect(
      given(executor('box'), (bed) => {
        bed.heartbeat('box');
        bed.lose('box');
        bed.requestDrain('box');
        bed.heartbeat('box');
        bed.heartbeat('box');
      }).when(queued('one')),
    ).toEqual([]));

  it('leaves its runs to others', () =>
    expect(given(executor('a'), executor('b'), drained('a')).when(queued('one'))).toEqual([
      assigned('one', 'b'),
    ]));

  it('does not stop the runs that execute there', () => {
    const bed = new TestBed();
    bed.lead();
    for (const step of [executor('box'), queued('one')]) step(bed);
    bed.settleAll();
    bed.start('one');
    bed.requestDrain('box');
    bed.pass(20_000, { alive: ['box'] });
    expect(bed.last).toEqual([]);
    bed.succeed('one');
    expect(bed.run('one')?.status).toBe('success');
  });

  it('gets the runs that wait when it is resumed', () =>
    expect(given(executor('box'), drained('box'), queued('one')).when(resumed('box'))).toEqual([
      assigned('one', 'box'),
    ]));

  it('is not resumed by an executor that stops draining: the two are apart', () => {
    const stopping: Step = (bed) => bed.drain('box');
    const anew: Step = (bed) => bed.register('box');
    expect(given(executor('box'), drained('box'), stopping, anew).when(queued('one'))).toEqual([]);
    expect(given(executor('box'), stopping, drained('box'), resumed('box')).when(queued('one'))).toEqual([]);
  });

  it('is drained however often the request is read', () =>
    expect(
      given(executor('box'), drained('box'), drained('box'), resumed('box')).when(queued('one')),
    ).toEqual([assigned('one', 'box')]));

  it('is not drained by a request that arrives late, after the one that resumed it', () =>
    expect(
      given(executor('box'), (bed) => {
        bed.requestResume('box', { sequence: 20 });
        bed.requestDrain('box', { sequence: 10 });
      }).when(queued('one')),
    ).toEqual([assigned('one', 'box')]));
});

describe('requests for names', () => {
  const names = ['a', 'b', 'c'] as const;
  const request = fc.record({ name: fc.constantFrom(...names), drain: fc.boolean() });

  it('count by their position in the log, in whatever order and however often they are read', () => {
    const requestsInAnyOrder = fc
      .array(request, { minLength: 1, maxLength: 12 })
      .chain((requests) =>
        fc.tuple(
          fc.constant(requests),
          fc.shuffledSubarray([...requests.keys(), ...requests.keys()], { minLength: requests.length * 2 }),
        ),
      );
    fc.assert(
      fc.property(requestsInAnyOrder, ([requests, order]) => {
        const bed = new TestBed();
        bed.lead();
        for (const name of names) executor(name)(bed);
        for (const index of order) {
          const next = requests[index];
          if (next?.drain) bed.requestDrain(next.name, { sequence: 100 + index });
          else if (next) bed.requestResume(next.name, { sequence: 100 + index });
        }
        for (const name of names) {
          const last = requests.findLast((other) => other.name === name);
          expect(statesOf(bed).find((state) => state.name === name)?.drain === null).toBe(!last?.drain);
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
        const bed = new TestBed();
        bed.lead();
        const decided: string[] = [];
        bed.onDecided = (_input, decisions) => {
          for (const decision of decisions) {
            if (decision.type === 'assign') decided.push(bed.nameOf(decision.key));
          }
        };
        for (const name of names) executor(name)(bed);
        for (const name of drains) bed.requestDrain(name);
        for (let run = 0; run < runs; run += 1) bed.queue(`run ${run}`);
        expect(decided).toEqual([]);
        for (const name of resumes) bed.requestResume(name);
        expect(decided).toEqual(Array.from({ length: Math.min(runs, 3) }, (_, run) => `run ${run}`));
      }),
      { numRuns: 100 },
    );
  });
});

const ALL: ExecutorsRequest = { name: null, after: null, limit: 200 };
const statesOf = (bed: TestBed, question: Partial<ExecutorsRequest> = {}): ExecutorState[] =>
  bed.scheduling.queries.executors({ ...ALL, ...question }).executors;

describe('the state of executors', () => {
  it('has what they registered, what they execute, and their last heartbeat', () => {
    const bed = new TestBed();
    bed.lead();
    bed.register('box', { gpus: ['A10G', 'H100'], machines: ['farm'] });
    bed.heartbeat('box');
    bed.queue('one');
    const slots = (): ExecutorState['slots'] | undefined => statesOf(bed)[0]?.slots;
    // It is promised, and no fact yet.
    expect(slots()?.map(({ run }) => run)).toEqual([null, null]);
    bed.settleAll();
    const started = bed.run('one');
    expect(statesOf(bed)).toEqual([
      {
        executor_id: 'box.0a1b2c3d4e5f',
        name: 'box',
        state: 'ready',
        drain: null,
        slots: [
          {
            slot: 0,
            gpu: 'A10G',
            run: { ...bed.key('one'), attempt: 1, assigned_at: started?.attempt?.assigned_at },
          },
          { slot: 1, gpu: 'H100', run: null },
        ],
        machines: ['farm'],
        machine_count: 1,
        programs: ['render'],
        program_count: 1,
        software_version: '0.1.0',
        registered_at: '2026-01-01T00:00:00.000Z',
        last_heartbeat_at: 'heartbeat 1',
      },
    ]);
  });

  it('is unresponsive until the next heartbeat', () => {
    const bed = new TestBed();
    const state = (): string | undefined => statesOf(bed)[0]?.state;
    bed.register('box');
    expect(state()).toBe('unresponsive');
    bed.heartbeat('box');
    expect(state()).toBe('ready');
    bed.pass(3_500);
    expect(state()).toBe('unresponsive');
    bed.heartbeat('box');
    expect(state()).toBe('ready');
    bed.drain('box');
    expect(state()).toBe('draining');
    bed.pass(3_500);
    expect(state()).toBe('unresponsive');
  });

  it('has who drained their name, also while no executor has it', () => {
    const bed = new TestBed();
    const drain = { requested_at: '2026-01-01T00:00:00.000Z', requested_by: OPERATOR };
    bed.requestDrain('box');
    expect(statesOf(bed)).toMatchObject([
      { executor_id: null, name: 'box', state: 'absent', slots: [], drain },
    ]);
    executor('box')(bed);
    expect(statesOf(bed)).toMatchObject([{ executor_id: 'box.0a1b2c3d4e5f', state: 'draining', drain }]);
    bed.requestResume('box');
    expect(statesOf(bed)).toMatchObject([{ state: 'ready', drain: null }]);
    bed.leave('box');
    expect(statesOf(bed)).toEqual([]);
  });

  it('comes in pages, by name and then by id', () => {
    const bed = new TestBed();
    for (const name of ['c', 'a', 'b']) bed.register(name);
    bed.registerAs('a', 'a.000000000000');
    bed.requestDrain('aa');
    const seen: (string | null)[] = [];
    let after: ExecutorsRequest['after'] = null;
    for (let pages = 1; ; pages += 1) {
      const { executors, more } = bed.scheduling.queries.executors({ name: null, after, limit: 2 });
      seen.push(...executors.map(({ executor_id }) => executor_id));
      const last = executors.at(-1);
      after = last ? { name: last.name, executor_id: last.executor_id } : null;
      if (more) continue;
      expect(pages).toBe(3);
      break;
    }
    expect(seen).toEqual(['a.000000000000', 'a.0a1b2c3d4e5f', null, 'b.0a1b2c3d4e5f', 'c.0a1b2c3d4e5f']);
    expect(statesOf(bed, { name: 'a' }).map(({ executor_id }) => executor_id)).toEqual([
      'a.000000000000',
      'a.0a1b2c3d4e5f',
    ]);
    expect(statesOf(bed, { name: 'nobody' })).toEqual([]);
  });
});

describe('why a run waits', () => {
  it('is given in counts', () => {
    const bed = new TestBed();
    bed.lead();
    for (const name of ['a', 'b', 'c']) executor(name)(bed);
    bed.register('other', { programs: ['train'] });
    bed.queue('one');
    bed.settleAll();
    const on = bed.run('one')?.attempt?.executor_id ?? '';
    for (const name of ['a', 'b', 'c']) if (bed.id(name) !== on) bed.requestDrain(name);
    bed.queue('two');
    bed.queue('three');
    expect(bed.scheduling.queries.waitReason(bed.key('three'))).toEqual({
      ahead: 1,
      capacity: 'busy',
      gpu: 'A10G',
      executors: { serving: 1, busy_slots: 1, free_slots: 0, draining: 2 },
    });
    expect(bed.scheduling.queries.waitReason(bed.key('one'))).toBeUndefined();
  });
});

import { isExecuting } from '@runledger/contracts/fold/run';
import { orgId } from '@runledger/contracts/ids';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beforeDecision } from '../../../invariants/known-slots.ts';
import { Fairness } from '../../../invariants/fairness.ts';
import { executor, queued, running, succeeded } from '../steps.ts';
import { given, ORG, orgOf, TestBed, type RequestedRun } from '../test-bed.ts';

const slotsOf = (count: number) => ({ gpus: Array.from({ length: count }, () => 'A10G' as const) });

/** An executor with this number of slots. */
const fleetOf = (slots: number, weights?: ReadonlyMap<string, number>) => {
  const bed = new TestBed(new Map([...(weights ?? [])].map(([org, weight]) => [org, { weight }])));
  bed.lead();
  executor('box', slotsOf(slots))(bed);
  const started: string[] = [];
  bed.onDecided = (_input, decisions) => {
    for (const decision of decisions) if (decision.type === 'assign') started.push(bed.nameOf(decision.key));
  };
  /** In the order in which they started. */
  const executing = (): string[] => {
    const executes = (name: string): boolean => {
      const run = bed.run(name);
      return run !== undefined && isExecuting(run);
    };
    return [...new Set(started)].filter(executes);
  };
  const finish = (name: string): void => {
    bed.start(name);
    bed.succeed(name);
    bed.settleAll();
  };
  return {
    bed,
    started,
    executing,
    queue: (name: string, count: number, request: RequestedRun): void => {
      for (let n = 0; n < count; n += 1) {
        bed.queue(`${name} ${n}`, request);
        bed.settleAll();
      }
    },
    /** The run succeeds, and what follows is stored. */
    finish,
    /** So many runs succeed, in the order in which they started, as equally long runs do. */
    finishInOrder: (count: number): void => {
      for (let n = 0; n < count; n += 1) finish(executing()[0] ?? '');
    },
  };
};

/** How many of these runs were queued under the name. */
const count = (runs: readonly string[], name: string): number =>
  runs.filter((run) => run.startsWith(`${name} `)).length;

describe('organisations that share slots', () => {
  const [A, B, OTHER] = [{ org: orgOf(1) }, { org: orgOf(2) }, { org: orgOf(3) }];

  it('a burst of 10,000 runs delays a single run of another organisation by one run', () => {
    const { queue, finish, started } = fleetOf(1);
    queue('burst', 10_000, A);
    queue('single', 1, B);
    finish('burst 0');
    expect(started).toEqual(['burst 0', 'single 0']);
  });

  it('have equally many slots while all of them have runs, whoever queued first', () => {
    const { queue, finishInOrder, executing } = fleetOf(4);
    queue('early', 40, A);
    queue('late', 40, B);
    finishInOrder(20);
    expect([count(executing(), 'early'), count(executing(), 'late')]).toEqual([2, 2]);
  });

  it('borrow what the others do not need, and give it back at the next free slots', () => {
    const { queue, finish, executing } = fleetOf(4);
    queue('greedy', 40, A);
    expect(executing()).toHaveLength(4);
    queue('other', 40, B);
    finish('greedy 0');
    finish('greedy 1');
    expect(count(executing(), 'other')).toBe(2);
    finish('greedy 2');
    expect(count(executing(), 'greedy')).toBe(2);
  });

  it('keep their part of the slots also when the runs of another take longer', () => {
    const { queue, finish, executing } = fleetOf(4);
    queue('long', 40, A);
    queue('short', 60, B);
    for (const run of ['long 0', 'long 1']) finish(run);
    const short = (): string => executing().find((run) => run.startsWith('short')) ?? '';
    for (let n = 0; n < 30; n += 1) finish(short());
    expect([count(executing(), 'long'), count(executing(), 'short')]).toEqual([2, 2]);
  });

  it.each([1, 2, 3, 4, 6])('share %i slots by weight', (slots) => {
    const { queue, finishInOrder, started } = fleetOf(slots, new Map([[orgOf(1), 3]]));
    queue('before', slots, OTHER);
    queue('light', 100, B);
    queue('heavy', 100, A);
    started.length = slots;
    finishInOrder(slots);
    const from = started.length;
    finishInOrder(40);
    const [heavy, light] = ['heavy', 'light'].map((name) => count(started.slice(from), name));
    expect((heavy ?? 0) + (light ?? 0)).toBe(40);
    expect(light).toBeGreaterThanOrEqual(9);
    expect(light).toBeLessThanOrEqual(11);
  });

  it('have their parts also when sums of their weights are not exact', () => {
    const light = new Map([A, B].map(({ org }) => [org, 0.1] as const));
    const { queue, finish, started } = fleetOf(2, light);
    queue('before', 5, OTHER);
    finish('before 0');
    finish('before 1');
    queue('one', 2, A);
    finish('before 2');
    finish('before 3');
    queue('other', 2, B);
    finish('before 4');
    finish('other 0');
    expect(started.slice(-2)).toEqual(['other 0', 'other 1']);
  });

  it('save up no turns: who comes back after a long time gets as many as the others', () => {
    const { queue, finishInOrder, started } = fleetOf(1);
    queue('back', 1, B);
    queue('busy', 200, A);
    finishInOrder(100);
    queue('back again', 50, B);
    const from = started.length;
    finishInOrder(40);
    expect(count(started.slice(from), 'back again')).toBe(20);
  });

  it('get no more by having more deployments', () => {
    const { queue, finishInOrder, started } = fleetOf(1);
    queue('before', 1, OTHER);
    for (let deployment = 0; deployment < 10; deployment += 1)
      queue(`of ${deployment}`, 5, { ...A, deployment });
    queue('one', 30, B);
    finishInOrder(40);
    expect(count(started, 'one')).toBe(20);
  });

  it('pass over who waits for what the free executor does not have', () =>
    expect(
      given(...running('first', 'box'), queued('stuck', { ...A, program: 'train' }), queued('next', B)).when(
        succeeded('first'),
      ),
    ).toEqual(['next is assigned to box slot 0, attempt 1']));

  it('save up no turns by waiting for what no executor has', () => {
    const { bed, queue, finishInOrder, started } = fleetOf(1);
    queue('before', 1, OTHER);
    queue('stuck', 50, { ...A, program: 'train' });
    queue('busy', 200, B);
    finishInOrder(100);
    const from = started.length;
    bed.register('box', { ...slotsOf(1), programs: ['render', 'train'] });
    finishInOrder(40);
    expect(count(started.slice(from), 'stuck')).toBe(20);
  });
});

describe('deployments of an organisation', () => {
  it('share its slots: a burst of one delays another by one run', () => {
    const { queue, finish, started } = fleetOf(1);
    queue('burst', 100, { deployment: 1 });
    queue('single', 1, { deployment: 2 });
    finish('burst 0');
    expect(started).toEqual(['burst 0', 'single 0']);
  });

  it.each([1, 3])('share %i slots by weight', (slots) => {
    const { queue, finishInOrder, started } = fleetOf(slots);
    queue('before', slots, { org: orgOf(1) });
    queue('light', 60, { deployment: 1 });
    queue('heavy', 60, { deployment: 2, weight: 3 });
    finishInOrder(slots);
    const from = started.length;
    finishInOrder(40);
    expect(Math.abs(count(started.slice(from), 'light') - 10)).toBeLessThanOrEqual(1);
  });

  it('have the weight of the run that was queued last, also when an earlier one is requeued', () => {
    const { bed, queue, finishInOrder, started } = fleetOf(1);
    queue('changed', 20, { deployment: 1 });
    queue('other', 60, { deployment: 2 });
    queue('changed now', 60, { deployment: 1, weight: 3 });
    bed.leave('box');
    bed.settleAll();
    executor('second')(bed);
    bed.settleAll();
    const from = started.length;
    finishInOrder(40);
    expect(Math.abs(count(started.slice(from), 'other') - 10)).toBeLessThanOrEqual(1);
  });

  it('have a requeued run in front of their own runs, and not of the whole queue', () => {
    const { bed, queue, started } = fleetOf(1);
    queue('own', 3, { deployment: 1 });
    queue('other', 3, { org: orgOf(2) });
    bed.leave('box');
    bed.settleAll();
    expect(bed.run('own 0')?.status).toBe('queued');
    const from = started.length;
    executor('second', slotsOf(4))(bed);
    expect(started.slice(from).toSorted()).toEqual(['other 0', 'other 1', 'own 0', 'own 1']);
  });
});

describe('whatever two greedy organisations did, a single run of a third', () => {
  const slots = fc.integer({ min: 1, max: 5 });
  const greedy = fc.record({
    runs: fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 })),
    finished: fc.array(fc.nat(), { maxLength: 30 }),
  });
  type Greedy = typeof greedy extends fc.Arbitrary<infer Of> ? Of : never;

  /** A fleet on which they have been for a while, when the third queues its run. */
  const withSingle = (
    slotCount: number,
    { runs: [first, second], finished }: Greedy,
    weights: ReadonlyMap<string, number>,
  ) => {
    const fleet = fleetOf(slotCount, weights);
    const { queue, finish, executing } = fleet;
    const enough = finished.length + slotCount + 1;
    queue('first', first + enough, { org: orgOf(1) });
    queue('second', second + enough, { org: ORG });
    for (const which of finished) finish(executing()[which % slotCount] ?? '');
    queue('single', 1, { org: orgOf(2) });
    return fleet;
  };

  it('starts in the next free slot', () => {
    fc.assert(
      fc.property(slots, greedy, fc.nat(), (slotCount, before, next) => {
        const { started, finish, executing } = withSingle(slotCount, before, new Map());
        const from = started.length;
        finish(executing()[next % slotCount] ?? '');
        expect(started.slice(from)).toEqual(['single 0']);
      }),
      { numRuns: casesOf(40) },
    );
  });

  it('starts within one run, whatever their weights', () => {
    const weight = fc.constantFrom(0.1, 1, 7);
    fc.assert(
      fc.property(
        slots,
        greedy,
        fc.tuple(weight, weight, weight),
        (slotCount, before, [one, other, third]) => {
          const weights = new Map([
            [orgOf(1), one] as const,
            [ORG, other] as const,
            [orgOf(2), third] as const,
          ]);
          const { executing, started, finishInOrder } = withSingle(slotCount, before, weights);
          finishInOrder(executing().length);
          expect(started).toContain('single 0');
        },
      ),
      { numRuns: casesOf(60) },
    );
  });
});

describe('an organisation that waits and holds no slot', () => {
  it('is not passed over by two clients that each queue a run after the other', () => {
    const { queue, finish, executing, started } = fleetOf(1);
    queue('first', 1, { org: orgOf(1) });
    queue('burst', 3, { org: ORG });
    for (let n = 0; n < 3; n += 1) {
      queue(`client ${n}`, 1, { org: orgOf(1 + (n % 2)) });
      finish(executing()[0] ?? '');
    }
    expect(started).toContain('burst 0');
  });

  it('is not passed over again and again by two clients, while a third one has a share of its own', () => {
    const { queue, finish, executing, started } = fleetOf(3, new Map([[orgOf(1), 10]]));
    const one = (name: string): string => executing().find((run) => run.startsWith(name)) ?? '';
    queue('heavy', 200, { org: orgOf(1) });
    queue('light client', 2, { org: orgOf(2) });
    finish(one('heavy'));
    queue('light burst', 20, { org: orgOf(3) });
    for (let n = 1; n <= 6; n += 1) {
      for (let run = 0; run < 20; run += 1) finish(one('heavy'));
      finish(one('light'));
      queue(`light client ${n}`, 1, { org: orgOf(2) });
    }
    expect(count(started, 'light burst')).toBe(3);
  });

  it('is passed as often as weights say, whatever they do', () => {
    const step = fc.record({ org: fc.nat({ max: 3 }), runs: fc.integer({ min: 0, max: 3 }), ends: fc.nat() });
    const weight = fc.constantFrom(1, 1, 0.1, 2, 10);
    const orgs = [ORG, orgOf(1), orgOf(2), orgOf(3)];
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.tuple(weight, weight, weight, weight),
        fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
        (slots, weights, steps) => {
          const shares = new Map(orgs.map((org, n) => [org, weights[n] ?? 1] as const));
          const { bed, queue, finish, executing } = fleetOf(slots, shares);
          const fairness = new Fairness();
          const circumstances = {
            shareOf: (org: string) => ({ weight: shares.get(orgId(org)) ?? 1, limit: Infinity }),
            isDrained: () => false,
            clock: { now: 0, instantOf: Date.parse },
          };
          const { onDecided } = bed;
          bed.onDecided = (input, decisions) => {
            onDecided(input, decisions);
            for (const [n, decision] of decisions.entries()) {
              if (decision.type !== 'assign') continue;
              const moment = beforeDecision(bed.scheduling, decisions.slice(n), circumstances.isDrained);
              expect(fairness.problemOf(moment, decision, circumstances)).toBeUndefined();
            }
          };
          for (const [n, { org, runs, ends }] of steps.entries()) {
            queue(`of${org} ${n}`, runs, { org: orgs[org] ?? ORG });
            const ending = executing();
            if (ending.length > 0) finish(ending[ends % ending.length] ?? '');
          }
        },
      ),
      { numRuns: casesOf(40) },
    );
  });
});

describe('organisations that all have runs', () => {
  it('start runs by weight, when runs are equally long', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 5 }),
        (slots, weights) => {
          const names = weights.map((weight, n) => [orgOf(n), weight] as const);
          const { queue, finishInOrder, started } = fleetOf(slots, new Map(names));
          queue('before', slots, { org: ORG });
          for (const n of weights.keys()) queue(`of${n}`, 60, { org: orgOf(n) });
          finishInOrder(slots);
          const from = started.length;
          finishInOrder(60);
          const total = weights.reduce((sum, weight) => sum + weight, 0);
          for (const [n, weight] of weights.entries()) {
            const got = count(started.slice(from), `of${n}`);
            expect(Math.abs(got - (60 * weight) / total)).toBeLessThan(slots + 2);
          }
        },
      ),
      { numRuns: casesOf(20) },
    );
  });
});

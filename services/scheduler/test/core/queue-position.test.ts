import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import { describe, expect, it } from 'vitest';
import { World, type OfferedBy, type Step, type RequestedRun } from './world.ts';

const executor =
  (name: string, offered?: OfferedBy): Step =>
  (world) => {
    world.register(name, offered);
    world.beat(name);
  };
/** An executor whose only slot is taken. */
const busy =
  (name: string, offered: OfferedBy = {}): Step =>
  (world) => {
    executor(name, offered)(world);
    world.queue(`first on ${name}`, { machine: offered.machines?.[0] ?? 'farm' });
    world.settleAll();
  };
const queued =
  (run: string, wish?: RequestedRun): Step =>
  (world) =>
    world.queue(run, wish);

const after = (...steps: readonly Step[]): { placeOf: (run: string) => QueuePosition | undefined } => {
  const world = new World();
  world.lead();
  for (const step of steps) step(world);
  return { placeOf: (run) => world.scheduling.queries.queuePosition(world.key(run)) };
};

describe('the position of a queued run', () => {
  it('counts the runs that were queued for its GPU before it', () => {
    const { placeOf } = after(
      busy('box'),
      queued('one'),
      queued('two'),
      queued('other', { gpu: 'H100' }),
      queued('three'),
    );
    expect(['one', 'two', 'three'].map((run) => placeOf(run)?.ahead)).toEqual([0, 1, 2]);
    expect(placeOf('other')).toEqual({ ahead: 0, capacity: 'no_gpu' });
  });

  it('counts other machines and programs where an executor that could execute it takes them too', () => {
    const { placeOf } = after(
      busy('box', { machines: ['farm', 'studio'] }),
      queued('studio', { machine: 'studio' }),
      queued('farm', { machine: 'farm' }),
    );
    expect(placeOf('farm')).toEqual({ ahead: 1, capacity: 'busy' });
  });

  it('does not count runs that only other executors could execute', () => {
    const { placeOf } = after(
      busy('studio', { machines: ['studio'] }),
      busy('farm', { machines: ['farm'] }),
      queued('one', { machine: 'studio' }),
      queued('two', { machine: 'farm' }),
    );
    expect(placeOf('two')).toEqual({ ahead: 0, capacity: 'busy' });
  });

  it('does not count runs that no executor could execute', () => {
    const { placeOf } = after(busy('box'), queued('hopeless', { program: 'train' }), queued('one'));
    expect(placeOf('one')).toEqual({ ahead: 0, capacity: 'busy' });
  });

  it('counts all runs for its GPU while no executor could execute it', () => {
    const { placeOf } = after(
      queued('one'),
      queued('two', { program: 'train' }),
      queued('three', { machine: 'studio' }),
    );
    expect(placeOf('three')).toEqual({ ahead: 2, capacity: 'no_gpu' });
  });

  it('decreases when a run before it ends or is assigned, and a requeued run is in front again', () => {
    const world = new World();
    world.lead();
    busy('box')(world);
    for (const run of ['one', 'two', 'three']) world.queue(run);
    const ahead = (run: string): number | undefined =>
      world.scheduling.queries.queuePosition(world.key(run))?.ahead;
    expect(ahead('three')).toBe(2);
    world.requestCancel('one');
    expect(ahead('three')).toBe(1);
    world.start('first on box');
    world.succeed('first on box');
    expect([ahead('two'), ahead('three')]).toEqual([0, 0]);
    world.settleAll();
    expect([ahead('two'), ahead('three')]).toEqual([undefined, 0]);
    world.leave('box');
    world.settleAll();
    expect([ahead('two'), ahead('three')]).toEqual([0, 1]);
  });

  it('is known as soon as the run is, also before a scheduler leads', () => {
    const world = new World();
    world.queue('one');
    world.queue('two');
    expect(world.scheduling.queries.queuePosition(world.key('two'))).toEqual({
      ahead: 1,
      capacity: 'no_gpu',
    });
  });

  it('is undefined for a run that executes, has ended or is unknown', () => {
    const { placeOf } = after(busy('box'), queued('one'), (world) => world.requestCancel('one'));
    expect([placeOf('first on box'), placeOf('one'), placeOf('unheard')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('a run waits', () => {
  const drained =
    (name: string): Step =>
    (world) =>
      world.drain(name);
  const left =
    (name: string): Step =>
    (world) =>
      world.leave(name);

  it.each<[string, QueuePosition['capacity'], Step[]]>([
    ['for a slot', 'busy', [busy('box')]],
    ['for an executor to be heard', 'busy', [(world) => world.register('box')]],
    ['since no executor is there', 'no_gpu', []],
    ['since no executor has its GPU', 'no_gpu', [executor('box', { gpus: ['H100'] })]],
    ['since the only executor left', 'no_gpu', [executor('box'), left('box')]],
    ['since no executor serves its machine', 'not_served', [executor('box', { machines: ['studio'] })]],
    [
      'since the one that serves its machine has another GPU',
      'not_served',
      [executor('box', { machines: ['studio'] }), executor('other', { gpus: ['H100'] })],
    ],
    ['since no executor offers its program', 'no_runner', [executor('box', { programs: ['train'] })]],
    ['since executors drain', 'draining', [executor('box'), drained('box')]],
    ['for a slot of the one that does not drain', 'busy', [executor('box'), drained('box'), busy('other')]],
    [
      'since the one that does not drain does not offer its program',
      'draining',
      [executor('box'), drained('box'), executor('other', { programs: ['train'] })],
    ],
    [
      'for a slot of one that registered again with its machine',
      'busy',
      [executor('box', { machines: ['studio'] }), (world) => world.register('box')],
    ],
    [
      'since the only executor is about to be lost',
      'no_gpu',
      [executor('box'), (world) => world.pass(6_000)],
    ],
  ])('%s: %s', (_why, capacity, steps) =>
    expect(after(...steps, queued('one')).placeOf('one')?.capacity).toBe(capacity),
  );
});

import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import { describe, expect, it } from 'vitest';
import { executor, left, queued } from '../steps.ts';
import { TestBed, type Step, type TestCapabilities, type RequestedRun } from '../test-bed.ts';

/** An executor whose only slot is taken. */
const busy =
  (name: string, capabilities: TestCapabilities = {}): Step =>
  (bed) => {
    executor(name, capabilities)(bed);
    bed.queue(`first on ${name}`, { machine: capabilities.machines?.[0] ?? 'farm' });
    bed.settleAll();
  };
const after = (...steps: readonly Step[]): { positionOf: (run: string) => QueuePosition | undefined } => {
  const bed = new TestBed();
  bed.lead();
  for (const step of steps) step(bed);
  return { positionOf: (run) => bed.scheduling.queries.queuePosition(bed.key(run)) };
};

describe('the position of a queued run', () => {
  it('counts the runs that were queued for its GPU before it', () => {
    const { positionOf } = after(
      busy('box'),
      queued('one'),
      queued('two'),
      queued('other', { gpu: 'H100' }),
      queued('three'),
    );
    expect(['one', 'two', 'three'].map((run) => positionOf(run)?.ahead)).toEqual([0, 1, 2]);
    expect(positionOf('other')).toEqual({ ahead: 0, capacity: 'no_gpu' });
  });

  it('counts runs of other machines and programs that its executors can take', () => {
    const { positionOf } = after(
      busy('box', { machines: ['farm', 'studio'] }),
      queued('studio', { machine: 'studio' }),
      queued('farm', { machine: 'farm' }),
    );
    expect(positionOf('farm')).toEqual({ ahead: 1, capacity: 'busy' });
  });

  it('does not count runs that only other executors could execute', () => {
    const { positionOf } = after(
      busy('studio', { machines: ['studio'] }),
      busy('farm', { machines: ['farm'] }),
      queued('one', { machine: 'studio' }),
      queued('two', { machine: 'farm' }),
    );
    expect(positionOf('two')).toEqual({ ahead: 0, capacity: 'busy' });
  });

  it('does not count runs that no executor could execute', () => {
    const { positionOf } = after(busy('box'), queued('stuck', { program: 'train' }), queued('one'));
    expect(positionOf('one')).toEqual({ ahead: 0, capacity: 'busy' });
  });

  it('counts all runs for its GPU while no executor could execute it', () => {
    const { positionOf } = after(
      queued('one'),
      queued('two', { program: 'train' }),
      queued('three', { machine: 'studio' }),
    );
    expect(positionOf('three')).toEqual({ ahead: 2, capacity: 'no_gpu' });
  });

  it('decreases when an earlier run ends or is assigned, and increases when one is requeued', () => {
    const bed = new TestBed();
    bed.lead();
    busy('box')(bed);
    for (const run of ['one', 'two', 'three']) bed.queue(run);
    const ahead = (run: string): number | undefined =>
      bed.scheduling.queries.queuePosition(bed.key(run))?.ahead;
    expect(ahead('three')).toBe(2);
    bed.requestCancel('one');
    expect(ahead('three')).toBe(1);
    bed.start('first on box');
    bed.succeed('first on box');
    expect([ahead('two'), ahead('three')]).toEqual([0, 0]);
    bed.settleAll();
    expect([ahead('two'), ahead('three')]).toEqual([undefined, 0]);
    bed.leave('box');
    bed.settleAll();
    expect([ahead('two'), ahead('three')]).toEqual([0, 1]);
  });

  it('is known before a scheduler leads', () => {
    const bed = new TestBed();
    bed.queue('one');
    bed.queue('two');
    expect(bed.scheduling.queries.queuePosition(bed.key('two'))).toEqual({
      ahead: 1,
      capacity: 'no_gpu',
    });
  });

  it('is undefined for a run that executes, has ended or is unknown', () => {
    const { positionOf } = after(busy('box'), queued('one'), (bed) => bed.requestCancel('one'));
    expect([positionOf('first on box'), positionOf('one'), positionOf('unknown')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('the capacity of a waiting run', () => {
  const draining =
    (name: string): Step =>
    (bed) =>
      bed.drain(name);
  it.each<[string, QueuePosition['capacity'], Step[], RequestedRun?]>([
    ['for a slot', 'busy', [busy('box')]],
    ['for the first heartbeat of an executor', 'busy', [(bed) => bed.register('box')]],
    ['since no executor is registered', 'no_gpu', []],
    ['since no executor has its GPU', 'no_gpu', [executor('box', { gpus: ['H100'] })]],
    ['since the only executor left', 'no_gpu', [executor('box'), left('box')]],
    ['since no executor serves its machine', 'not_served', [executor('box', { machines: ['studio'] })]],
    [
      'since the one that serves its machine has another GPU',
      'not_served',
      [executor('box', { machines: ['studio'] }), executor('other', { gpus: ['H100'] })],
    ],
    ['since no executor has its program', 'no_runner', [executor('box', { programs: ['train'] })]],
    ['since no executor has its label', 'no_label', [executor('box')], { labels: ['nvlink'] }],
    ['since executors drain', 'draining', [executor('box'), draining('box')]],
    ['for a slot of the one that does not drain', 'busy', [executor('box'), draining('box'), busy('other')]],
    [
      'since the one that does not drain lacks its program',
      'draining',
      [executor('box'), draining('box'), executor('other', { programs: ['train'] })],
    ],
    [
      'for a slot of one that registered again with its machine',
      'busy',
      [executor('box', { machines: ['studio'] }), (bed) => bed.register('box')],
    ],
    ['since the only executor is about to be lost', 'no_gpu', [executor('box'), (bed) => bed.pass(6_000)]],
  ])('%s: %s', (_why, capacity, steps, request) =>
    expect(after(...steps, queued('one', request)).positionOf('one')?.capacity).toBe(capacity),
  );
});

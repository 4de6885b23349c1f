import type { WantedReady } from '@runledger/contracts/requests/ready-slots';
import { describe, expect, it } from 'vitest';
import { executor, loaded, prepared, queued, started, stored } from './steps.ts';
import { ORG, TestBed, versionOf, type Step } from './test-bed.ts';

const wanted = (version: number, more: Partial<WantedReady> = {}): WantedReady => ({
  org_id: ORG,
  gpus: ['A10G'],
  machine_id: '01920000-0000-7000-8000-000000000005',
  machine_name: 'farm',
  runner: { kind: 'program', program: 'render' },
  labels: [],
  workflow_version_id: versionOf(version),
  keep_prepared: 0,
  keep_loaded: 0,
  ...more,
});

/** As `box: 0, 1` for two slots, and `box` alone where it is only prepared. */
const places = (steps: readonly Step[], ...all: readonly WantedReady[]): string[][] => {
  const bed = new TestBed();
  bed.lead();
  for (const step of steps) step(bed);
  return bed.scheduling.queries
    .readySlots({ wanted: [...all] })
    .places.map((ofOne) =>
      ofOne
        .map(({ executor_id, slots }) =>
          [executor_id.split('.')[0], slots.join(', ')].filter(Boolean).join(': '),
        )
        .toSorted(),
    );
};

const PAIR = { gpus: ['A10G', 'A10G'] } as const;

describe('a version is to be ready', () => {
  it('where it is loaded already, then where it is prepared, then in any free slot', () => {
    const fleet = [executor('den'), executor('pit'), executor('box')];
    const steps = [...fleet, loaded('box', 1), prepared('pit', 1)];
    expect(places(steps, wanted(1, { keep_loaded: 1 }))).toEqual([['box: 0']]);
    expect(places(steps, wanted(1, { keep_loaded: 2 }))).toEqual([['box: 0', 'pit: 0']]);
    expect(places(steps, wanted(1, { keep_loaded: 9 }))).toEqual([['box: 0', 'den: 0', 'pit: 0']]);
  });

  it('also in the slot of a run of it, and not in one that a run of another has', () => {
    const steps = [executor('box', PAIR), queued('one', { version: 1 }), stored, started('one')];
    const other = [queued('two', { version: 2 }), stored, started('two')];
    expect(places([...steps, ...other], wanted(1, { keep_loaded: 2 }))).toEqual([['box: 0']]);
    expect(places(steps, wanted(1, { keep_loaded: 2 }))).toEqual([['box: 0, 1']]);
  });

  it('rather in an empty slot than in one that has another version', () =>
    expect(
      places([executor('den'), loaded('den', 2), executor('box')], wanted(1, { keep_loaded: 1 })),
    ).toEqual([['box: 0']]));

  it('in turns with others, and no slot twice', () => {
    const fleet = [executor('box', PAIR), executor('den')];
    const [one = [], two = []] = places(fleet, wanted(1, { keep_loaded: 3 }), wanted(2, { keep_loaded: 1 }));
    const slots = [...one, ...two].flatMap((place) => {
      const [name, numbers = ''] = place.split(': ');
      return numbers.split(', ').map((slot) => `${name} ${slot}`);
    });
    expect(slots.toSorted()).toEqual(['box 0', 'box 1', 'den 0']);
    expect(two.length).toBe(1);
  });

  it('prepared on as many executors as have so many slots, those first that have it', () => {
    const fleet = [executor('den'), executor('box', PAIR), executor('pit'), prepared('pit', 1)];
    expect(places(fleet, wanted(1, { keep_prepared: 1 }))).toEqual([['pit']]);
    expect(places(fleet, wanted(1, { keep_prepared: 9 }))).toEqual([['box', 'den', 'pit']]);
    expect(places(fleet, wanted(1, { keep_loaded: 1, keep_prepared: 1 }))).toEqual([['pit: 0']]);
  });

  it('on executors that can execute it only, and on its GPU models in their order', () => {
    const fleet = [
      executor('other', { programs: ['none'] }),
      executor('small', { gpus: ['L4'] }),
      executor('box', { gpus: ['H100', 'A10G'] }),
    ];
    expect(places(fleet, wanted(1, { keep_loaded: 9 }))).toEqual([['box: 1']]);
    expect(places(fleet, wanted(1, { gpus: ['L4', 'A10G'], keep_loaded: 1 }))).toEqual([['small: 0']]);
    expect(places([], wanted(1, { keep_loaded: 1 }))).toEqual([[]]);
  });
});

import { describe, expect, it } from 'vitest';
import { executor, loaded, passed, prepared, queued, running, started, stored, succeeded } from './steps.ts';
import { TestBed, type RequestedRun, type Step } from './test-bed.ts';

/** Why the run got its slot. */
const placementOf = (run: string, ...steps: readonly Step[]) => {
  const bed = new TestBed();
  bed.lead();
  for (const step of [...steps, stored]) step(bed);
  return bed.run(run)?.attempt?.placement;
};

describe('the placement of an attempt', () => {
  it('says how many free slots fitted, up to ten', () => {
    expect(placementOf('one', executor('box'), queued('one'))).toEqual({
      candidates: 1,
      choice: 'cold',
      waited_s: 0,
    });
    const others = [executor('den', { gpus: ['A10G', 'A10G'] }), executor('far', { gpus: ['H100'] })];
    expect(placementOf('one', executor('box'), ...others, queued('one'))?.candidates).toBe(3);
    const large = executor('large', { gpus: Array.from({ length: 11 }, () => 'A10G' as const) });
    expect(placementOf('one', large, queued('one'))?.candidates).toBe(10);
  });

  it('says how ready the slot was for its version', () => {
    const choice = (...known: Step[]) =>
      placementOf('one', executor('box'), ...known, queued('one', { version: 1 }))?.choice;
    expect([choice(), choice(prepared('box', 1)), choice(loaded('box', 1))]).toEqual([
      'cold',
      'prepared',
      'warm',
    ]);
    expect(choice(prepared('box', 1), loaded('box', 1))).toBe('warm');
  });

  it('says how long the run waited', () =>
    expect(
      placementOf('one', ...running('busy', 'box'), queued('one'), passed(12_000, 'box'), succeeded('busy')),
    ).toEqual({ candidates: 1, choice: 'cold', waited_s: 12 }));

  it('says which of its GPU models the slot has', () => {
    const either = { gpu: 'L4', fallbacks: [{ gpu: 'A10G', after_s: 0 }] } as const;
    expect(placementOf('one', executor('box'), queued('one', either))?.gpu_index).toBe(1);
    expect(placementOf('one', executor('box', { gpus: ['L4'] }), queued('one', either))?.gpu_index).toBe(0);
  });

  it.each<[RequestedRun, string | undefined]>([
    [{}, undefined],
    [{ concurrencyLimit: 1 }, 'concurrency_limit'],
    [{ concurrencyLimit: 2 }, undefined],
    [{ key: 'user 7' }, 'concurrency_key'],
  ])('of a run with %j names the limit that held it back: %s', (request, limit) => {
    const box = executor('box', { gpus: ['A10G', 'A10G'] });
    const steps = [box, queued('busy', request), stored, started('busy'), queued('one', request)];
    expect(placementOf('one', ...steps, stored, succeeded('busy'))?.held_back_by).toBe(limit);
  });

  it('names no limit that others reached before it waited', () => {
    const steps = [executor('box'), queued('busy', { concurrencyLimit: 1 }), stored, started('busy')];
    expect(
      placementOf('one', ...steps, succeeded('busy'), queued('one', { concurrencyLimit: 1 })),
    ).not.toHaveProperty('held_back_by');
  });
});

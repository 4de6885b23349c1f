import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { followsEnd, RUN_EVENT_TYPES, RUN_EVENTS } from '../../src/events/run-event.ts';
import { isImpossible, type Impossible } from '../../src/fold/chain.ts';
import { evolveAttempt, type AttemptState } from '../../src/fold/evolve-attempt.ts';
import { evolveRun } from '../../src/fold/evolve-run.ts';
import { isExecuting, type RunState } from '../../src/fold/run.ts';
import { anEvent, factOf, runAfter } from '../fixtures/run-events.ts';

const afterFacts = (...types: readonly (typeof RUN_EVENT_TYPES)[number][]): AttemptState | undefined => {
  let attempt: AttemptState | undefined;
  for (const [index, type] of types.entries()) {
    const next = evolveAttempt(attempt, factOf(anEvent(type), index + 1));
    if (isImpossible(next)) throw new Error(next.impossible);
    attempt = next;
  }
  return attempt;
};

describe('an attempt', () => {
  it('begins with its assignment only', () => {
    expect(afterFacts('RunAssigned')).toEqual({ status: 'started', cancel: null });
    expect(evolveAttempt(undefined, factOf(anEvent('RunStarted'), 1))).toEqual({
      impossible: 'RunStarted of attempt 1 cannot follow nothing',
    });
  });

  it('runs, stores its files, and is over after its end', () => {
    expect(afterFacts('RunAssigned', 'RunStarted')).toMatchObject({ status: 'running' });
    expect(afterFacts('RunAssigned', 'RunStarted', 'RunUploading')).toMatchObject({ status: 'uploading' });
    expect(afterFacts('RunAssigned', 'RunStarted', 'RunSucceeded')).toEqual({ status: 'over' });
  });

  it('is over when its run is requeued', () => {
    expect(afterFacts('RunAssigned', 'RunRequeued')).toEqual({ status: 'over' });
  });

  it('keeps who requested its cancellation, and then ends as cancelled only', () => {
    const cancelling = afterFacts('RunAssigned', 'RunStarted', 'RunCancelRequested');
    expect(cancelling).toMatchObject({ status: 'running', cancel: { by: 'client' } });
    expect(evolveAttempt(cancelling, factOf(anEvent('RunSucceeded'), 4))).toEqual({
      impossible: 'RunSucceeded of attempt 1 cannot follow an attempt that is running, its cancel requested',
    });
    expect(evolveAttempt(cancelling, factOf(anEvent('RunCancelled'), 4))).toEqual({ status: 'over' });
  });
});

it('the fold of an attempt agrees with the fold of its run for any facts', () => {
  // RunExpired names its attempt itself, and may end a run whose known state is behind.
  const first: readonly string[] = ['RunQueued', 'RunAssigned', 'RunExpired'];
  const later = RUN_EVENT_TYPES.filter((type) => !first.includes(type) && !followsEnd(RUN_EVENTS[type].fact));
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...later), { maxLength: 20 }), (types) => {
      let run: RunState = runAfter(anEvent('RunQueued'), anEvent('RunAssigned'));
      let attempt: AttemptState = { status: 'started', cancel: null };
      for (const [index, type] of types.entries()) {
        const fact = factOf(anEvent(type), index + 3);
        const nextRun = evolveRun(run, fact);
        const nextAttempt: AttemptState | Impossible = evolveAttempt(attempt, fact);
        expect(isImpossible(nextAttempt), type).toBe(isImpossible(nextRun));
        if (!isImpossible(nextRun)) run = nextRun;
        if (!isImpossible(nextAttempt)) attempt = nextAttempt;
        expect(attempt).toEqual(
          isExecuting(run) ? { status: run.status, cancel: run.cancel } : { status: 'over' },
        );
      }
    }),
  );
});

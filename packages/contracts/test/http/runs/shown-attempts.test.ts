import { describe, expect, it } from 'vitest';
import { MAX_ERROR_MESSAGE } from '../../../src/limits.ts';
import { isImpossible } from '../../../src/fold/chain.ts';
import { evolveRun } from '../../../src/fold/evolve-run.ts';
import { isDeleted, type RunState } from '../../../src/fold/run.ts';
import type { RunEvent } from '../../../src/events/run-event.ts';
import type { RunAttempt } from '../../../src/http/runs/run-attempt.ts';
import { attemptsResponse } from '../../../src/http/runs/run-response.ts';
import { anEvent, factOf, timeOf } from '../../fixtures/run-events.ts';

const after = (...events: readonly RunEvent[]): RunAttempt[] => {
  const run = events.reduce<RunState | undefined>((state, event, index) => {
    const next = evolveRun(state, factOf(event, index + 1));
    if (isImpossible(next)) throw new Error(next.impossible);
    return next;
  }, undefined);
  if (!run || isDeleted(run)) throw new Error('there is no run');
  return attemptsResponse(run);
};

const running = [anEvent('RunQueued'), anEvent('RunAssigned'), anEvent('RunStarted')];
const lost = [...running, anEvent('RunRequeued', { reason: 'executor_lost', message: 'no heartbeat' })];
const first = {
  number: 1,
  executor: 'box',
  gpu: 'A10G',
  placement: null,
  started_at: timeOf(3),
  ended_at: timeOf(4),
  end_reason: 'executor_lost',
  error: { kind: 'executor_lost', message: 'no heartbeat', retryable: true },
};

describe('the attempts of a run', () => {
  it('are none until it is assigned', () => {
    expect(after(anEvent('RunQueued'))).toEqual([]);
  });

  it('go on while it executes, and end with it', () => {
    const present = {
      number: 1,
      executor: 'box',
      gpu: 'A10G',
      placement: null,
      ended_at: null,
      end_reason: null,
      error: null,
    };
    expect(after(...running.slice(0, 2))).toEqual([{ ...present, started_at: null }]);
    expect(after(...running)).toEqual([{ ...present, started_at: timeOf(3) }]);
    expect(after(...running, anEvent('RunFailed'))).toMatchObject([
      { ended_at: timeOf(4), end_reason: 'workflow_error', error: { kind: 'program_exit', exit_code: 3 } },
    ]);
  });

  it('have the GPU models of their slots', () => {
    const fallbacks = { gpu_fallbacks: [{ gpu: 'L4' as const, after_s: 0 }] };
    const queued = { ...anEvent('RunQueued'), data: { ...anEvent('RunQueued').data, ...fallbacks } };
    const onL4 = anEvent('RunAssigned', { gpu: 'L4' });
    const requeued = anEvent('RunRequeued', { reason: 'executor_lost', message: 'no heartbeat' });
    const again = anEvent('RunAssigned', {}, { attempt: 2 });
    const gpus = after(queued, onL4, anEvent('RunStarted'), requeued, again).map(({ gpu }) => gpu);
    expect(gpus).toEqual(['L4', 'A10G']);
  });

  it('say why they got their slots', () => {
    const reason = { candidates: 1, choice: 'warm', waited_s: 12.34, warm_wait_s: 2 } as const;
    const placed = anEvent('RunAssigned', { reason });
    const requeued = anEvent('RunRequeued', { reason: 'executor_lost', message: 'no heartbeat' });
    const last = {
      candidates: 10,
      choice: 'cold',
      gpu_index: 1,
      waited_s: 3,
      held_back_by: 'concurrency_key',
    } as const;
    const again = anEvent('RunAssigned', { reason: last }, { attempt: 2 });
    const events = [anEvent('RunQueued'), placed, anEvent('RunStarted'), requeued, again];
    expect(after(...events).map(({ placement }) => placement)).toEqual([
      {
        ...reason,
        gpu_index: null,
        held_back_by: null,
        sentence: 'after 12.3 s, 2 of them for a warm slot, the only free slot, which has its version loaded',
      },
      {
        ...last,
        warm_wait_s: null,
        sentence:
          'after 3 s, held back by its concurrency key, one of 10 or more free slots, of the 2nd GPU of its list',
      },
    ]);
  });

  it('stay when another one follows', () => {
    expect(after(...lost)).toEqual([first]);
    const again = anEvent('RunAssigned', {}, { attempt: 2 });
    expect(after(...lost, again)).toEqual([first, expect.objectContaining({ number: 2, ended_at: null })]);
  });

  it('are the same after an end in the queue', () => {
    const late = anEvent('RunTimedOut', { reason: 'start_deadline' }, { attempt: 1, executor: null });
    expect(after(...lost, late)).toEqual([first]);
  });

  it('have short messages, except the last one', () => {
    const message = 'x'.repeat(MAX_ERROR_MESSAGE);
    const [earlier] = after(...running, anEvent('RunRequeued', { reason: 'executor_left', message }));
    expect(earlier).toMatchObject({
      end_reason: 'executor_lost',
      error: { kind: 'executor_left', message: 'x'.repeat(512) },
    });
  });
});

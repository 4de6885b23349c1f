import { describe, expect, it } from 'vitest';
import {
  endReasonOf,
  ERROR_KINDS,
  errorOf,
  retryAfterS,
  type AttemptError,
  type LaterKind,
} from '../../src/events/run-error.ts';
import { parseRunEvent, type RunEvent } from '../../src/events/run-event.ts';
import { isImpossible } from '../../src/fold/chain.ts';
import { evolveRun } from '../../src/fold/evolve-run.ts';
import type { RunState } from '../../src/fold/run.ts';
import { attemptsResponse } from '../../src/http/runs/run-response.ts';
import { isDeleted } from '../../src/fold/run.ts';
import { anEvent } from '../fixtures/run-events.ts';

const later: AttemptError = {
  message: 'the card has left its slot',
  kind: 'gpu_fell_off' as LaterKind,
  retryable: false,
};

/** As a reader takes it from the log. */
const parsed = (event: unknown): RunEvent => {
  const result = parseRunEvent(event);
  if (result.kind !== 'event') throw new Error(JSON.stringify(result));
  return result.event;
};

const folded = (...events: readonly RunEvent[]): RunState => {
  let run: RunState | undefined;
  for (const [index, event] of events.entries()) {
    const next = evolveRun(run, { event, sequence: index + 1, time: '2026-01-01T00:00:00.000Z' });
    if (isImpossible(next)) throw new Error(next.impossible);
    run = next;
  }
  if (!run) throw new Error('no events');
  return run;
};

const withError = (type: 'RunFailed' | 'RunAttemptFailed', error: object): RunEvent => {
  const event = anEvent(type);
  return parsed({ ...event, data: { ...event.data, error } });
};
const began = [anEvent('RunQueued'), anEvent('RunAssigned'), anEvent('RunStarted')];

describe('an error of a kind that a later release has added', () => {
  it('ends a run as failed, and is shown as it is', () => {
    const run = folded(...began, withError('RunFailed', later));
    expect(run).toMatchObject({ status: 'failed', end_reason: 'workflow_error', error: later });
  });

  it('is the error of an earlier attempt', () => {
    const run = folded(...began, withError('RunAttemptFailed', later));
    if (isDeleted(run)) throw new Error('it is deleted');
    expect(attemptsResponse(run)).toMatchObject([{ end_reason: 'workflow_error', error: later }]);
  });

  it('has another attempt only if it says that it is retryable, and the deployment names it', () => {
    const retryable = { ...later, retryable: true };
    expect(retryAfterS(retryable, { attempt: 1, retry_on: ['crashed'] }, 1)).toBeNull();
    expect(retryAfterS(later, { attempt: 1, retry_on: [later.kind as LaterKind] }, 1)).toBeNull();
    expect(retryAfterS(retryable, { attempt: 1, retry_on: [later.kind as LaterKind] }, 1)).toBe(2);
  });

  it('may be one after which a newer gateway lets runs begin another attempt', () => {
    for (const type of ['RunQueued', 'RunAssigned'] as const) {
      const event = anEvent(type);
      const retry_on = ['crashed', later.kind];
      expect(parsed({ ...event, data: { ...event.data, retry_on } })).toHaveProperty(
        'data.retry_on',
        retry_on,
      );
    }
  });

  it.each(['', 'Gpu', 'a-b', '9a', 'x'.repeat(33), 'crashed\n', 5, null])('is one word: not %j', (kind) => {
    expect(() => withError('RunFailed', { ...later, kind })).toThrow('invalid');
  });

  it.each(['executor_lost', 'executor_left', 'no_capacity', 'log_expired'])(
    'is not %s, which services alone know',
    (kind) => {
      expect(() => withError('RunFailed', { ...later, kind })).toThrow('invalid');
    },
  );

  it('belongs to the end reason that earlier releases derive of it', () => {
    expect(endReasonOf(later.kind)).toBe('workflow_error');
    expect(endReasonOf('toString' as LaterKind)).toBe('workflow_error');
    expect(ERROR_KINDS.map((kind) => errorOf(kind, '').kind)).toEqual(ERROR_KINDS);
  });
});

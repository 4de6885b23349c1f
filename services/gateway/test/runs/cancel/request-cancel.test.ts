import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { requestCancel } from '../../../src/runs/facts/cancel-run.ts';
import { folded, timeOf } from '../../fixtures/runs/folded-runs.ts';
import {
  aRun,
  assigned,
  cancelled,
  cancelRequested,
  failed,
  EXECUTOR,
  queued,
  requeued,
  started,
  succeeded,
  timedOut,
  uploading,
} from '@runledger/testing/run-events';

const key = aRun();
const user_id = newUuid();
const envelope = {
  event_id: newUuid(),
  ...key,
  time: '2026-01-01T00:00:00.000Z',
  writer: { service: 'gateway', instance: 'one' },
  traceparent: null,
};
const running = [queued(key), assigned(key), started(key)];

describe('a cancel request', () => {
  it.each([
    ['queued', folded(queued(key)), 'cancelled', 'cancelled', 'cancelled'],
    ['queued again', folded(...running, requeued(key)), 'cancelled', 'cancelled', 'cancelled'],
    ['started', folded(queued(key), assigned(key)), 'cancellation_requested', 'started', 'started'],
    ['running', folded(...running), 'cancellation_requested', 'running', 'running'],
    ['uploading', folded(...running, uploading(key)), 'cancellation_requested', 'uploading', 'uploading'],
  ])('is stored for a run that is %s', (_name, run, outcome, status, after) => {
    const decision = requestCancel(run, { user_id }, envelope);
    if (decision.kind !== 'append') throw new Error('nothing is stored');
    expect(decision.answer).toEqual({ outcome, status });
    expect(decision.event).toMatchObject({
      type: 'RunCancelRequested',
      data: { by: 'client', user_id },
      correlation_id: 'request-1',
    });
    const next = evolveRun(run, { event: decision.event, sequence: 9, time: timeOf(9) });
    expect(next).toMatchObject({ status: after });
  });

  it.each([
    [
      'already asked for',
      folded(...running, cancelRequested(key, 1, EXECUTOR)),
      'cancellation_requested',
      'running',
    ],
    [
      'cancelled',
      folded(...running, cancelRequested(key, 1, EXECUTOR), cancelled(key)),
      'cancelled',
      'cancelled',
    ],
    ['cancelled while queued', folded(queued(key), cancelRequested(key)), 'cancelled', 'cancelled'],
    ['success', folded(...running, succeeded(key)), 'already_ended', 'success'],
    ['failed', folded(...running, failed(key)), 'already_ended', 'failed'],
    ['timeout', folded(queued(key), timedOut(key, 'no_capacity')), 'already_ended', 'timeout'],
  ])('changes nothing for a run that is %s', (_name, run, outcome, status) => {
    expect(requestCancel(run, { user_id }, envelope)).toEqual({
      kind: 'nothing_to_do',
      answer: { outcome, status },
    });
  });
});

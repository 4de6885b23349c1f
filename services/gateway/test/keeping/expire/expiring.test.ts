import { aRun, assigned, cancelRequested, EXECUTOR, queued, started } from '@runledger/testing/run-events';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { isDeleted, isEnded, type Run } from '@runledger/contracts/fold/run';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { expiringBefore, isExpiring, runExpired } from '../../../src/runs/facts/expiring.decide.ts';
import { folded, timeOf } from '../../fixtures/runs/folded-runs.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const now = Date.parse(timeOf(0)) + 100 * DAY_MS;
const week = { now, maxAgeMs: 7 * DAY_MS, beginsAt: 0 };
const key = aRun();

describe('a run', () => {
  const createdAt = (time: number): Run => ({
    ...folded(queued(key)),
    created_at: new Date(time).toISOString(),
  });

  it('expires before its first fact does, by an hour for each day of the age of the log', () => {
    expect(expiringBefore(week).getTime()).toBe(now - 7 * DAY_MS + 7 * HOUR_MS);
    expect(isExpiring(createdAt(now - 7 * DAY_MS + 7 * HOUR_MS), week, true)).toBe(false);
    expect(isExpiring(createdAt(now - 7 * DAY_MS + 7 * HOUR_MS - 1), week, true)).toBe(true);
  });

  it('has expired when the log begins after it, even if it is younger than the age of the log', () => {
    const restored = { ...week, beginsAt: now - HOUR_MS };
    expect(isExpiring(createdAt(now - 2 * HOUR_MS), restored, false)).toBe(true);
    expect(isExpiring(createdAt(now - HOUR_MS), restored, false)).toBe(false);
  });

  it('has not expired while the log holds all of it, whatever a broker with another clock said of the time before', () => {
    const ahead = { ...week, beginsAt: now + HOUR_MS };
    expect(isExpiring(createdAt(now), ahead, true)).toBe(false);
  });

  it('never expires from a complete log without a maximum age', () => {
    const whole = { now, maxAgeMs: Infinity, beginsAt: 0 };
    expect(expiringBefore(whole).getTime()).toBe(0);
    expect(isExpiring(createdAt(1), whole, true)).toBe(false);
  });
});

describe('the end of a run that expires', () => {
  const endOf = (...events: readonly RunEvent[]): Run => {
    const run = folded(...events);
    if (isEnded(run)) throw new Error('it has ended');
    const writer = { service: 'gateway', instance: 'one' };
    const event = runExpired(run, week, { event_id: newUuid(), ...key, time: timeOf(9), writer });
    const alone = evolveRun(undefined, { event, sequence: 9, time: timeOf(9) });
    const known = evolveRun(run, { event, sequence: 9, time: timeOf(9) });
    if ('impossible' in alone || 'impossible' in known || isDeleted(alone))
      throw new Error('it is impossible');
    expect({ ...alone, request: run.request }).toEqual(known);
    return alone;
  };

  it.each<[string, readonly RunEvent[], string | null]>([
    ['queued', [queued(key)], null],
    ['assigned', [queued(key), assigned(key)], EXECUTOR],
    ['running', [queued(key), assigned(key), started(key)], EXECUTOR],
  ])('has everything that is known of a run that is %s', (_what, events, executor) => {
    const { status, updated_at: _updated, ...before } = folded(...events);
    const { inputs: _inputs, ...request } = before.request;
    expect(endOf(...events)).toMatchObject({
      number: before.number,
      request,
      created_at: before.created_at,
      queued_at: before.queued_at,
      correlation_id: before.correlation_id,
      status: 'failed',
      end_reason: 'log_expired',
    });
    expect(endOf(...events).attempt?.executor_id ?? null).toBe(executor);
    expect(status).not.toBe('failed');
  });

  it('is a cancellation after a cancel request', () => {
    const events = [queued(key), assigned(key), started(key), cancelRequested(key, 1, EXECUTOR)];
    expect(endOf(...events)).toMatchObject({ status: 'cancelled', end_reason: 'cancelled_by_client' });
  });

  it('says what happened and what to do', () => {
    const end = endOf(queued(key));
    expect(isEnded(end) && end.error?.message).toContain('168 h (runsMaxAgeMs)');
    expect(isEnded(end) && end.error?.message).toContain('Queue it again');
  });
});

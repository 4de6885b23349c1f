import { executorId } from '@runledger/contracts/ids';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import { describe, expect, it } from 'vitest';
import { readAssignment, type Assignment } from '../../src/attempt/assignment.decide.ts';
import {
  beginFacts,
  skipTo,
  applyMessage,
  applyOwn,
  underWay,
  type AttemptFacts,
  eventOf,
} from '../../src/attempt/attempt-facts.decide.ts';
import { anAssignedRun } from '../fixtures/assigned-run.ts';

const run = anAssignedRun({ executor: executorId('box.0a1b2c3d4e5f'), publicKey: 'key', program: 'render' });

const stored = (event: RunEvent, sequence: number, expected: number): StoredMessage => ({
  subject: runEventSubject(event),
  sequence,
  time: '2026-01-01T00:00:00.000Z',
  fence: lifecycleFilter(run),
  expectedSequence: expected,
  body: event,
});

const assigned = (): { facts: AttemptFacts; assignment: Assignment } => {
  const read = readAssignment(stored(run.assigned, 10, 5));
  if (read.kind !== 'assignment') throw new Error(read.kind);
  return { facts: beginFacts(read.assignment, read.head), assignment: read.assignment };
};

describe('an assignment', () => {
  it('begins an attempt that is under way, at its own sequence', () => {
    const { facts } = assigned();
    expect(facts.history.head).toBe(10);
    expect(underWay(facts)).toMatchObject({ status: 'started', cancel: null });
  });

  it.each([
    ['no fence', { fence: null }],
    ['the fence of another run', { fence: 'runs.*.*.life.>' }],
    ['no expected sequence', { expectedSequence: null }],
    ['another subject', { subject: runEventSubject(run.queued) }],
    ['no event', { body: { type: 'RunAssigned', version: 1 } }],
    ['another event', { body: run.requeued }],
  ])('that has %s is refused', (_, change) => {
    expect(readAssignment({ ...stored(run.assigned, 10, 5), ...change })).toMatchObject({ kind: 'refused' });
  });

  it('says how long the run may still take to begin, by the times of the broker', () => {
    const secondsOf = (start_deadline?: { since: string; within_s: number }): unknown => {
      const body = {
        ...run.assigned,
        data: { ...run.assigned.data, ...(start_deadline && { start_deadline }) },
      };
      const read = readAssignment({ ...stored(run.assigned, 10, 5), body });
      return read.kind === 'assignment' && read.assignment.startWithinS;
    };
    expect(secondsOf({ since: '2025-12-31T23:59:30.500Z', within_s: 60 })).toBe(30.5);
    expect(secondsOf({ since: '2025-12-31T23:00:00.000Z', within_s: 60 })).toBe(0);
    expect(secondsOf()).toBe(Number.POSITIVE_INFINITY);
  });

  it('of a later release is recognised', () => {
    for (const { type, version } of [
      { type: 'RunAssigned', version: 2 },
      { type: 'RunAssignedTwice', version: 1 },
    ]) {
      const body = { ...run.assigned, type, version };
      expect(readAssignment({ ...stored(run.assigned, 10, 5), body })).toEqual({
        kind: 'newer_version',
        type,
        version,
      });
    }
  });
});

describe('the facts of an attempt', () => {
  it('have a cancel request', () => {
    const { facts } = assigned();
    const next = applyMessage(facts, stored(run.cancelRequested, 12, 10));
    expect(next.refused).toBeNull();
    expect(underWay(next.facts)?.cancel).toMatchObject({ by: 'client' });
  });

  it('end the attempt when the scheduler requeued the run', () => {
    const { facts } = assigned();
    expect(underWay(applyMessage(facts, stored(run.requeued, 12, 10)).facts)).toBeNull();
  });

  it('are the same before and after an own fact is delivered', () => {
    const { facts, assignment } = assigned();
    const stamp = { event_id: '01920000-0000-7000-8000-000000000001', time: '2026-01-01T00:00:00.000Z' };
    const event = eventOf(assignment, { type: 'RunStarted', data: { cold_start_s: 0 } }, stamp);
    const own = applyOwn(facts, { event, sequence: 11, time: '2026-01-01T00:00:00.000Z' });
    expect(applyMessage(own, stored(event, 11, 10)).facts).toEqual(own);
    expect(applyMessage(facts, stored(event, 11, 10)).facts).toEqual(own);
    expect(underWay(own)?.status).toBe('running');
  });

  it('continue after a forged one that is not addressed to this executor', () => {
    const { facts } = assigned();
    const next = applyMessage(facts, stored(run.cancelRequested, 14, 13));
    expect(next.facts.history.head).toBe(14);
    expect(underWay(next.facts)?.cancel).not.toBeNull();
  });

  it('do not lose a cancel request that arrives after it was skipped', () => {
    const { facts } = assigned();
    const next = applyMessage(skipTo(facts, 12), stored(run.cancelRequested, 12, 10));
    expect(next.facts.history.head).toBe(12);
    expect(underWay(next.facts)?.cancel).not.toBeNull();
  });

  it('are no later versions, unless the assignment names them', () => {
    const { facts, assignment } = assigned();
    const stamp = { event_id: '01920000-0000-7000-8000-000000000001', time: '2026-01-01T00:00:00.000Z' };
    const event = eventOf(assignment, { type: 'RunStarted', data: { cold_start_s: 0 } }, stamp);
    const newer = { ...stored(event, 11, 10), body: { ...event, version: 2 } };
    expect(applyMessage(facts, newer)).toMatchObject({
      refused: 'RunStarted is in version 2, and its writer may use 1 at most',
      facts: { unreadable: false, history: { head: 11 } },
    });
    const { data } = assignment.event;
    const later = { ...assignment.event, data: { ...data, fact_versions: { RunStarted: 2 } } };
    const allowed = { ...facts, assignment: { ...assignment, event: later } };
    expect(applyMessage(allowed, newer)).toMatchObject({ refused: null, facts: { unreadable: true } });
  });

  it('refuse a message that is not a fact of the run', () => {
    const { facts } = assigned();
    const forged = { ...stored(run.cancelRequested, 12, 10), fence: null };
    expect(applyMessage(facts, forged)).toMatchObject({
      refused: expect.stringContaining('fenced'),
      facts: { history: { head: 12 } },
    });
    expect(applyMessage(facts, stored(run.cancelRequested, 12, 9)).refused).toContain(
      'it was appended after 9',
    );
  });
});

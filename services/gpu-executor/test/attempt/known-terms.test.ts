import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { termBegan, termAnnouncementSubject } from '@runledger/contracts/events/leader-terms';
import { aRun, assigned, EXECUTOR } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { type Assignment, KnownTerms } from '../../src/attempt/assignment.decide.ts';

const told = (term: number, sequence: number, body: unknown = termBegan('next', term)): StoredMessage => ({
  subject: termAnnouncementSubject(EXECUTOR),
  sequence,
  time: '2026-01-01T00:00:00.000Z',
  fence: null,
  expectedSequence: null,
  body,
});

const assignment = (term?: number): Assignment => {
  const key = aRun();
  const event = assigned(key, term === undefined ? {} : { data: { term } });
  return { ...key, attempt: 1, executor_id: EXECUTOR, event, startWithinS: 60 };
};

describe('an assignment of an earlier term', () => {
  it('is void after the message that tells a later one, and not before it', () => {
    const terms = new KnownTerms();
    expect(terms.onTold(told(7, 100))).toBe(true);
    expect(terms.isVoid(assignment(6), 99)).toBe(false);
    expect(terms.isVoid(assignment(6), 101)).toBe(true);
    expect(terms.isVoid(assignment(7), 101)).toBe(false);
    expect(terms.isVoid(assignment(8), 101)).toBe(false);
  });

  it('is void in whatever order what is told comes, and a former leader changes nothing', () => {
    const terms = new KnownTerms();
    terms.onTold(told(8, 200));
    terms.onTold(told(7, 100));
    terms.onTold(told(6, 300));
    expect(terms.isVoid(assignment(6), 150)).toBe(true);
    expect(terms.isVoid(assignment(7), 150)).toBe(false);
    expect(terms.isVoid(assignment(7), 301)).toBe(true);
  });

  it('is void wherever it is stored, if the later one began before the executor registered', () => {
    const terms = new KnownTerms();
    terms.onRegister(5);
    terms.onRegister(3);
    expect(terms.registered).toBe(5);
    expect(terms.isVoid(assignment(4), 1)).toBe(true);
    expect(terms.isVoid(assignment(5), 1)).toBe(false);
  });
});

it('an assignment of a release without terms is never void', () => {
  const terms = new KnownTerms();
  terms.onRegister(5);
  terms.onTold(told(7, 100));
  expect(terms.isVoid(assignment(), 101)).toBe(false);
});

it('a message that tells no term is refused', () => {
  const terms = new KnownTerms();
  expect(terms.onTold(told(0, 100, { stream: 'RUNS', seq: 9 }))).toBe(false);
  expect(terms.onTold(told(0, 100, termBegan('next')))).toBe(false);
});

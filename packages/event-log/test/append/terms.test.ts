import { newUuid } from '@runledger/contracts/ids';
import { announcedTerm, TERMS, termAnnouncementSubject } from '@runledger/contracts/events/leader-terms';
import { EXECUTOR } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginTerm, registerInTerm, announceTerm } from '../../src/append/append-fleet.ts';
import { aRegistration } from '../fixtures/a-registration.ts';
import { registerWhileTermsBegin } from '../fixtures/register-while-terms-begin.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

describe('a term', () => {
  it('has the number of its message in FLEET, and each is greater than those before', async () => {
    const { log } = test;
    const first = await beginTerm(log, 'one');
    const second = await beginTerm(log, 'two');
    expect(second).toBeGreaterThan(first);
    const last = await log.jsm.streams.getMessage('FLEET', { last_by_subj: TERMS });
    expect(last).toMatchObject({ seq: second });
  });

  it('is told to an executor in RUNS', async () => {
    const { log } = test;
    const sequence = await announceTerm(log, { term: 7, instance: 'one', executor: EXECUTOR });
    const message = await log.jsm.streams.getMessage('RUNS', { seq: sequence });
    expect(message?.subject).toBe(termAnnouncementSubject(EXECUTOR));
    expect(announcedTerm(message?.json())).toBe(7);
  });
});

describe('a registration', () => {
  it('is refused with the last term when it does not know it, and stored once', async () => {
    const { log } = test;
    const term = await beginTerm(log, 'one');
    const event = aRegistration(newUuid());
    expect(await registerInTerm(log, event, 0)).toEqual({ kind: 'superseded', term });
    expect(await registerInTerm(log, event, term)).toEqual({ kind: 'stored' });
    expect(await registerInTerm(log, event, term)).toEqual({ kind: 'stored' });
    const later = await beginTerm(log, 'two');
    // Its answer was lost, and a term has begun meanwhile.
    expect(await registerInTerm(log, event, term)).toEqual({ kind: 'superseded', term: later });
    expect(await registerInTerm(log, event, later)).toEqual({ kind: 'stored' });
    const info = await log.jsm.streams.info('FLEET', { subjects_filter: `fleet.${event.executor_id}.>` });
    expect(Object.values(info.state.subjects ?? {})).toEqual([1]);
  });

  it('knows all terms that began before it, however many executors register while leaders change', async () => {
    const registered = await registerWhileTermsBegin(test.log, { executors: 64, terms: 10 });
    expect(registered).toHaveLength(64);
    for (const { term, last } of registered) expect(term).toBe(last);
  });
});

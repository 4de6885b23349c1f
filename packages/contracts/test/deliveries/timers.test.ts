import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  originOf,
  partitionOf,
  PARTITIONS,
  ALL_DEFERRED,
  breakerTimerSubject,
  expiredTimersIn,
  openBreakersIn,
  originToken,
  partitionPositionSubject,
  pendingAt,
  timersOfRun,
  timerSubject,
  type PendingDelivery,
  type TimerState,
} from '../../src/deliveries/timers.ts';
import { ORG, RUN } from '../fixtures/run-events.ts';
import { matchesFilter } from '../../src/events/subjects.ts';
import { anyCharacter } from '../fixtures/any-character.ts';

const OTHER_ORG = '01920000-0000-7000-8000-0000000000fa';
const OTHER_RUN = '01920000-0000-7000-8000-0000000000fb';
const ORIGIN = 'https://hooks.example.com:8443';

const pending = (changes: Partial<PendingDelivery> = {}): PendingDelivery => ({
  version: 1,
  org_id: ORG,
  run_id: RUN,
  origin: ORIGIN,
  round: 1,
  tries: 3,
  due_at: '2026-01-01T00:00:30.000Z',
  expires_at: '2026-01-07T00:00:00.000Z',
  sequence: 7,
  ...changes,
});
const opening = (org_id: string | null) => ({ origin: ORIGIN, org_id });

describe('the token of an origin', () => {
  const anyOrigin = fc.oneof(
    fc.webUrl({ validSchemes: ['http', 'https'] }).map((url) => originOf(new URL(url))),
    fc.ipV6().map((address) => `http://[${address}]:8080`),
    fc.string({ unit: anyCharacter, minLength: 1 }),
  );

  it('is one valid token of a subject for any origin', () => {
    fc.assert(
      fc.property(anyOrigin, (origin) => {
        expect(originToken(origin)).toMatch(/^[A-Za-z0-9:/[\]_%-]+$/);
      }),
    );
  });

  it('decodes to its origin', () => {
    fc.assert(
      fc.property(anyOrigin, (origin) => {
        expect(decodeURIComponent(originToken(origin))).toBe(origin);
      }),
    );
  });

  it.each([
    ['https://example.com', 'https://example%2Ecom'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['http://127.0.0.1:80', 'http://127%2E0%2E0%2E1:80'],
    ['*', '%2A'],
    ['>', '%3E'],
    ['a b', 'a%20b'],
    ['%2E', '%252E'],
    ['\u00FC', '%C3%BC'],
  ])('of %s is %s', (origin, token) => {
    expect(originToken(origin)).toBe(token);
  });
});

describe('the subjects of timers', () => {
  const STATES: readonly TimerState[] = ['wait', 'due', 'deferred'];

  it('are one for each run and state: six tokens, under the partition of the origin', () => {
    expect(STATES.map((state) => timerSubject(pending(), state))).toEqual(
      STATES.map(
        (state) => `timers.${partitionOf(ORIGIN)}.https://hooks%2Eexample%2Ecom:8443.${ORG}.${RUN}.${state}`,
      ),
    );
  });

  it('do not change with the attempts, so that a new message replaces the last one', () => {
    expect(timerSubject(pending({ tries: 4, round: 2 }), 'wait')).toBe(timerSubject(pending(), 'wait'));
  });

  it.each(STATES)('match the filter of their own run only (%s)', (state) => {
    const all = timersOfRun(pending());
    expect(matchesFilter(all, timerSubject(pending(), state))).toBe(true);
    expect(matchesFilter(all, timerSubject(pending({ run_id: OTHER_RUN }), state))).toBe(false);
    expect(matchesFilter(all, timerSubject(pending({ org_id: OTHER_ORG }), state))).toBe(false);
    expect(matchesFilter(all, timerSubject(pending({ origin: 'https://example.com' }), state))).toBe(false);
  });

  it('of a breaker match no filter of a run', () => {
    for (const org of [ORG, null]) {
      const subject = breakerTimerSubject(opening(org), 'wait');
      expect(matchesFilter(timersOfRun(pending()), subject)).toBe(false);
      expect(subject.split('.')).toHaveLength(6);
    }
    expect(breakerTimerSubject(opening(null), 'wait')).toBe(
      `timers.${partitionOf(ORIGIN)}.${originToken(ORIGIN)}.all.breaker.wait`,
    );
  });

  it('that have expired are those of deliveries and breakers in the partition; waiting and deferred ones have not', () => {
    const due = expiredTimersIn(partitionOf(ORIGIN));
    for (const subject of [
      timerSubject(pending(), 'due'),
      breakerTimerSubject(opening(ORG), 'due'),
      breakerTimerSubject(opening(null), 'due'),
    ]) {
      expect(matchesFilter(due, subject), subject).toBe(true);
      expect(matchesFilter(expiredTimersIn((partitionOf(ORIGIN) + 1) % PARTITIONS), subject), subject).toBe(
        false,
      );
    }
    for (const subject of [
      timerSubject(pending(), 'wait'),
      timerSubject(pending(), 'deferred'),
      breakerTimerSubject(opening(ORG), 'wait'),
    ]) {
      expect(matchesFilter(due, subject), subject).toBe(false);
    }
  });

  it('of open breakers in a partition leave out breakers that are due', () => {
    const openings = openBreakersIn(partitionOf(ORIGIN));
    expect(matchesFilter(openings, breakerTimerSubject(opening(ORG), 'wait'))).toBe(true);
    expect(matchesFilter(openings, breakerTimerSubject(opening(null), 'wait'))).toBe(true);
    expect(matchesFilter(openings, breakerTimerSubject(opening(null), 'due'))).toBe(false);
    expect(matchesFilter(openings, timerSubject(pending(), 'wait'))).toBe(false);
  });

  it('of positions are one for each partition, and match no filter of timers', () => {
    const position = partitionPositionSubject(partitionOf(ORIGIN));
    for (const filter of [
      expiredTimersIn(partitionOf(ORIGIN)),
      openBreakersIn(partitionOf(ORIGIN)),
      pendingAt(opening(null), 'deferred'),
      timersOfRun(pending()),
    ]) {
      expect(matchesFilter(filter, position), filter).toBe(false);
    }
    expect(
      new Set(Array.from({ length: PARTITIONS }, (_, partition) => partitionPositionSubject(partition))).size,
    ).toBe(PARTITIONS);
  });

  it('of deferred deliveries at a receiver are those of its organisation', () => {
    const deferred = pendingAt(opening(ORG), 'deferred');
    expect(matchesFilter(deferred, timerSubject(pending(), 'deferred'))).toBe(true);
    expect(matchesFilter(deferred, timerSubject(pending({ run_id: OTHER_RUN }), 'deferred'))).toBe(true);
    expect(matchesFilter(deferred, timerSubject(pending({ org_id: OTHER_ORG }), 'deferred'))).toBe(false);
    expect(matchesFilter(deferred, timerSubject(pending(), 'wait'))).toBe(false);
  });

  it('of all deferred deliveries leave out other timers', () => {
    for (const state of STATES) {
      expect(matchesFilter(ALL_DEFERRED, timerSubject(pending(), state)), state).toBe(state === 'deferred');
    }
    expect(matchesFilter(ALL_DEFERRED, breakerTimerSubject(opening(null), 'wait'))).toBe(false);
  });

  it('of deferred deliveries at an origin are those of every organisation, and of no other origin', () => {
    const deferred = pendingAt(opening(null), 'deferred');
    expect(matchesFilter(deferred, timerSubject(pending(), 'deferred'))).toBe(true);
    expect(matchesFilter(deferred, timerSubject(pending({ org_id: OTHER_ORG }), 'deferred'))).toBe(true);
    const elsewhere = pending({ origin: 'https://hooks.example.com' });
    expect(matchesFilter(deferred, timerSubject(elsewhere, 'deferred'))).toBe(false);
    expect(matchesFilter(deferred, breakerTimerSubject(opening(null), 'due'))).toBe(false);
  });
});

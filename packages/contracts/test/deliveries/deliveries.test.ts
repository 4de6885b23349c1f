import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ALL_DEFERRED,
  breakerTimerSubject,
  deliveryAttemptsOfRun,
  deliveryStateSubject,
  expiredTimersIn,
  originOf,
  openBreakersIn,
  originToken,
  deferredAt,
  partitionPositionSubject,
  runOfDeliverySubject,
  PARTITIONS,
  partitionOf,
  timerSubject,
  timersOfRun,
  deliveryAttemptSubject,
  withoutQuery,
  type PendingDelivery,
  type TimerState,
} from '../../src/deliveries/deliveries.ts';
import { ORG, RUN } from '../fixtures/run-events.ts';
import { matches } from '../subjects/nats-wildcards.ts';

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
  ...changes,
});
const opening = (org_id: string | null) => ({ origin: ORIGIN, org_id });

describe('the token of an origin', () => {
  const anyOrigin = fc.oneof(
    fc.webUrl({ validSchemes: ['http', 'https'] }).map((url) => originOf(new URL(url))),
    fc.ipV6().map((address) => `http://[${address}]:8080`),
    fc.string({ unit: 'binary', minLength: 1 }),
  );

  it('is one token of a subject, whatever the origin', () => {
    fc.assert(
      fc.property(anyOrigin, (origin) => {
        expect(originToken(origin)).toMatch(/^[A-Za-z0-9:/[\]_%-]+$/);
      }),
    );
  });

  it('is of one origin only, which can be read from it', () => {
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
  ])('%s is %s', (origin, token) => {
    expect(originToken(origin)).toBe(token);
  });
});

describe('the share of an origin', () => {
  it('is one of 16', () => {
    fc.assert(
      fc.property(fc.string(), (origin) => {
        expect(Array.from({ length: PARTITIONS }, (_, share) => share)).toContain(partitionOf(origin));
      }),
    );
  });

  it('is the same in every release, since it stands in subjects', () => {
    expect(PARTITIONS).toBe(16);
    expect(
      ['https://example.com', 'http://[::1]:8080', 'https://hooks.example.net', 'http://127.0.0.1:9000'].map(
        partitionOf,
      ),
    ).toEqual([6, 0, 3, 1]);
  });

  it('is as likely as every other', () => {
    const counts = Array.from({ length: PARTITIONS }, () => 0);
    for (let n = 0; n < 16_000; n += 1) {
      const share = partitionOf(`https://host-${n}.example.com`);
      counts[share] = (counts[share] ?? 0) + 1;
    }
    for (const count of counts) {
      expect(count).toBeGreaterThan(850);
      expect(count).toBeLessThan(1_150);
    }
  });
});

describe('the subjects of what is pending', () => {
  const STATES: readonly TimerState[] = ['wait', 'due', 'deferred'];

  it('are one for each run and state, of six tokens, in the share of the origin', () => {
    expect(STATES.map((state) => timerSubject(pending(), state))).toEqual(
      STATES.map(
        (state) => `timers.${partitionOf(ORIGIN)}.https://hooks%2Eexample%2Ecom:8443.${ORG}.${RUN}.${state}`,
      ),
    );
  });

  it('do not change with the tries, so that the latest replaces what was there', () => {
    expect(timerSubject(pending({ tries: 4, round: 2 }), 'wait')).toBe(timerSubject(pending(), 'wait'));
  });

  it.each(STATES)('of a run are all found together (%s)', (state) => {
    const all = timersOfRun(pending());
    expect(matches(all, timerSubject(pending(), state))).toBe(true);
    expect(matches(all, timerSubject(pending({ run_id: OTHER_RUN }), state))).toBe(false);
    expect(matches(all, timerSubject(pending({ org_id: OTHER_ORG }), state))).toBe(false);
    expect(matches(all, timerSubject(pending({ origin: 'https://example.com' }), state))).toBe(false);
  });

  it('of a breaker are apart from those of every run', () => {
    for (const org of [ORG, null]) {
      const subject = breakerTimerSubject(opening(org), 'wait');
      expect(matches(timersOfRun(pending()), subject)).toBe(false);
      expect(subject.split('.')).toHaveLength(6);
    }
    expect(breakerTimerSubject(opening(null), 'wait')).toBe(
      `timers.${partitionOf(ORIGIN)}.${originToken(ORIGIN)}.all.breaker.wait`,
    );
  });

  it('that are due in a share are deliveries and breakers, and nothing that waits or is parked', () => {
    const due = expiredTimersIn(partitionOf(ORIGIN));
    for (const subject of [
      timerSubject(pending(), 'due'),
      breakerTimerSubject(opening(ORG), 'due'),
      breakerTimerSubject(opening(null), 'due'),
    ]) {
      expect(matches(due, subject), subject).toBe(true);
      expect(matches(expiredTimersIn((partitionOf(ORIGIN) + 1) % PARTITIONS), subject), subject).toBe(false);
    }
    for (const subject of [
      timerSubject(pending(), 'wait'),
      timerSubject(pending(), 'deferred'),
      breakerTimerSubject(opening(ORG), 'wait'),
    ]) {
      expect(matches(due, subject), subject).toBe(false);
    }
  });

  it('of openings in a share are those of breakers that are not over', () => {
    const openings = openBreakersIn(partitionOf(ORIGIN));
    expect(matches(openings, breakerTimerSubject(opening(ORG), 'wait'))).toBe(true);
    expect(matches(openings, breakerTimerSubject(opening(null), 'wait'))).toBe(true);
    expect(matches(openings, breakerTimerSubject(opening(null), 'due'))).toBe(false);
    expect(matches(openings, timerSubject(pending(), 'wait'))).toBe(false);
  });

  it('of a position is one for each share, and neither due nor parked', () => {
    const position = partitionPositionSubject(partitionOf(ORIGIN));
    for (const filter of [
      expiredTimersIn(partitionOf(ORIGIN)),
      openBreakersIn(partitionOf(ORIGIN)),
      deferredAt(opening(null)),
      timersOfRun(pending()),
    ]) {
      expect(matches(filter, position), filter).toBe(false);
    }
    expect(
      new Set(Array.from({ length: PARTITIONS }, (_, share) => partitionPositionSubject(share))).size,
    ).toBe(PARTITIONS);
  });

  it('that are parked at a receiver are those of its organisation', () => {
    const parked = deferredAt(opening(ORG));
    expect(matches(parked, timerSubject(pending(), 'deferred'))).toBe(true);
    expect(matches(parked, timerSubject(pending({ run_id: OTHER_RUN }), 'deferred'))).toBe(true);
    expect(matches(parked, timerSubject(pending({ org_id: OTHER_ORG }), 'deferred'))).toBe(false);
    expect(matches(parked, timerSubject(pending(), 'wait'))).toBe(false);
  });

  it('that are parked anywhere are no others', () => {
    for (const state of STATES) {
      expect(matches(ALL_DEFERRED, timerSubject(pending(), state)), state).toBe(state === 'deferred');
    }
    expect(matches(ALL_DEFERRED, breakerTimerSubject(opening(null), 'wait'))).toBe(false);
  });

  it('that are parked at an origin are those of every organisation, and of no other origin', () => {
    const parked = deferredAt(opening(null));
    expect(matches(parked, timerSubject(pending(), 'deferred'))).toBe(true);
    expect(matches(parked, timerSubject(pending({ org_id: OTHER_ORG }), 'deferred'))).toBe(true);
    const elsewhere = pending({ origin: 'https://hooks.example.com' });
    expect(matches(parked, timerSubject(elsewhere, 'deferred'))).toBe(false);
    expect(matches(parked, breakerTimerSubject(opening(null), 'due'))).toBe(false);
  });
});

describe('the subjects of what is known of tries', () => {
  const key = { org_id: ORG, run_id: RUN };

  it('are one for each final try, and one for all intermediate ones', () => {
    expect(deliveryAttemptSubject(key, { notification: 'final', round: 2, try: 13 })).toBe(
      `delivery_attempts.${ORG}.${RUN}.attempt.2.13`,
    );
    expect(deliveryAttemptSubject(key, { notification: 'intermediate', round: 1, try: 1 })).toBe(
      deliveryAttemptSubject(key, { notification: 'intermediate', round: 1, try: 2 }),
    );
  });

  it('all lie under the run, and tell it', () => {
    for (const subject of [
      deliveryAttemptSubject(key, { notification: 'final', round: 1, try: 1 }),
      deliveryAttemptSubject(key, { notification: 'intermediate', round: 1, try: 1 }),
      deliveryStateSubject(key),
    ]) {
      expect(matches(deliveryAttemptsOfRun(key), subject), subject).toBe(true);
      expect(runOfDeliverySubject(subject), subject).toEqual(key);
    }
  });

  it('tell no run when they are none', () => {
    for (const wrong of [
      `delivery_attempts.${ORG}`,
      `delivery_attempts.x.${RUN}.state`,
      `runs.${ORG}.${RUN}.life`,
      '',
    ]) {
      expect(runOfDeliverySubject(wrong), wrong).toBeUndefined();
    }
  });
});

describe('a callback address for people', () => {
  it.each([
    ['https://example.com/done', 'https://example.com/done'],
    ['https://example.com/done?token=secret', 'https://example.com/done?[hidden]'],
    ['https://example.com/done?a=1?b=2', 'https://example.com/done?[hidden]'],
    ['https://example.com/?', 'https://example.com/?[hidden]'],
  ])('%s is shown as %s', (url, shown) => {
    expect(withoutQuery(url)).toBe(shown);
  });
});

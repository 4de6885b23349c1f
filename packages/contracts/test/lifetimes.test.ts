import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  LIFETIME_RULES,
  LIFETIME_SETTINGS,
  lifetimeProblems,
  longestLifeMs,
  longestRunMs,
  type Lifetime,
  type Lifetimes,
} from '../src/lifetimes.ts';

const DAY_MS = 86_400_000;
const fitting: Lifetimes = {
  log: 7 * DAY_MS,
  delay: DAY_MS / 2,
  run: 3 * DAY_MS,
  webhookGiveUp: 3 * DAY_MS,
  deliveryAttempts: 7 * DAY_MS,
  views: 90 * DAY_MS,
  outputs: 90 * DAY_MS,
  ownRuns: 30 * DAY_MS,
  ownOutputs: 10 * DAY_MS,
  files: 14 * DAY_MS,
  blobs: 90 * DAY_MS,
  fleet: 365 * DAY_MS,
  deadLetters: 30 * DAY_MS,
};

describe('lifetimes', () => {
  it('that fit have no problem, nor have unknown ones', () => {
    expect(lifetimeProblems(fitting)).toEqual([]);
    expect(lifetimeProblems({})).toEqual([]);
    expect(lifetimeProblems({ log: 1 })).toEqual([]);
  });

  it.each(LIFETIME_RULES)('have a problem for each rule that $longer breaks', ({ longer }) => {
    const short = longer === 'log' ? { run: fitting.log, webhookGiveUp: 1 } : { [longer]: 1 };
    const problems = lifetimeProblems({ ...fitting, ...short });
    expect(problems).toHaveLength(LIFETIME_RULES.filter((rule) => rule.longer === longer).length);
    for (const problem of problems) expect(problem).toContain(`${LIFETIME_SETTINGS[longer]} is too short`);
  });

  it('name what to change, in hours', () => {
    expect(lifetimeProblems({ log: DAY_MS, webhookGiveUp: 3 * DAY_MS })).toEqual([
      'runsMaxAgeMs is too short: 23 h are less than 72 h (RUNLEDGER_WEBHOOK_GIVE_UP_S), so a run is ended as log_expired, ' +
        'or its notification as failed, because their facts are gone. Raise the first, or lower the other',
    ]);
  });

  it('of a log without an age allow everything', () => {
    expect(longestRunMs({ log: Infinity, webhookGiveUp: 3 * DAY_MS })).toBe(Infinity);
    expect(longestLifeMs(Infinity)).toBe(Infinity);
  });

  it('have no problem exactly when every rule holds', () => {
    const anyLifetimes = fc.record(
      Object.fromEntries(Object.keys(fitting).map((name) => [name, fc.integer({ min: 1, max: 1_000_000 })])),
    ) as fc.Arbitrary<Record<Lifetime, number>>;
    fc.assert(
      fc.property(anyLifetimes, (given) => {
        const broken = LIFETIME_RULES.filter(({ longer, than }) => {
          const usable = longer === 'log' ? longestLifeMs(given.log) : given[longer];
          return usable < than.reduce((sum, name) => sum + given[name], 0);
        });
        expect(lifetimeProblems(given)).toHaveLength(broken.length);
        expect(given.delay + given.run <= longestRunMs(given)).toBe(
          !broken.some(({ longer }) => longer === 'log'),
        );
      }),
    );
  });
});

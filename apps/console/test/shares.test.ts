import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sharesOf } from '../src/fleet/shares.ts';

const counts = (running: number, waiting = 0) => ({
  running,
  waiting,
  delayed: 0,
  oldest_queued_at: null,
});

const pool = {
  gpu: 'A10G',
  slots: 10,
  busy_slots: 8,
  starts_per_minute: 1,
  ...counts(8, 5),
  organisations: [
    {
      org_id: 'a',
      starts_per_minute: 1,
      ...counts(6, 2),
      deployments: [{ deployment_id: 'd', ...counts(4, 1) }],
      more_deployments: 2,
    },
  ],
  more_organisations: 3,
};

describe('the shares of a pool', () => {
  it('are of each organisation, its deployments, and those that are not listed', () => {
    expect(
      sharesOf(pool, true).map(({ of, id, count, running, waiting, percent }) => [
        of,
        id,
        count,
        running,
        waiting,
        percent,
      ]),
    ).toEqual([
      ['organisation', 'a', 1, 6, 2, 75],
      ['deployment', 'd', 1, 4, 1, 50],
      ['other deployments', null, 2, 2, 1, 25],
      ['other organisations', null, 3, 2, 3, 25],
    ]);
  });

  it('are of deployments alone for somebody who sees one organisation', () => {
    expect(sharesOf({ ...pool, more_organisations: 0 }, false).map(({ of }) => of)).toEqual([
      'deployment',
      'other deployments',
    ]);
  });

  it('have no percentage while nothing runs', () => {
    const idle = { ...pool, ...counts(0, 5), organisations: [], more_organisations: 1 };
    expect(sharesOf(idle, true)).toMatchObject([{ of: 'other organisations', waiting: 5, percent: null }]);
  });

  it('have all runs of the pool exactly once, and keys of their own', () => {
    const organisations = fc.array(fc.tuple(fc.nat(50), fc.nat(50)), { maxLength: 8 });
    fc.assert(
      fc.property(organisations, fc.nat(50), (listed, others) => {
        const whole = {
          ...pool,
          ...counts(listed.reduce((sum, [running]) => sum + running, others)),
          organisations: listed.map(([running, waiting], index) => ({
            org_id: `org-${index}`,
            starts_per_minute: 0,
            ...counts(running, waiting),
            deployments: [],
            more_deployments: 1,
          })),
          more_organisations: 1,
        };
        const shares = sharesOf(whole, true);
        const sum = shares
          .filter(({ of }) => of === 'organisation' || of === 'other organisations')
          .reduce((total, { running }) => total + running, 0);
        expect(sum).toBe(whole.running);
        expect(new Set(shares.map(({ key }) => key)).size).toBe(shares.length);
      }),
    );
  });
});

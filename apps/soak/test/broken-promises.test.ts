import { describe, expect, it } from 'vitest';
import type { Outage } from '../src/cluster/outages.ts';
import type { LimitChange } from '../src/faults/limit-changes.ts';
import { brokenPromises, quotaRefusals, withoutEffect } from '../src/broken-promises.ts';
import { aSoak, second } from './fixtures/a-soak.ts';

const full = (hadEffect: boolean): LimitChange => ({
  store: 'BLOBS',
  kind: 'full',
  from: second(1),
  to: second(2),
  lost: 0,
  hadEffect,
});
const restored = (more: Partial<Outage> = {}): Outage => ({
  part: 'database',
  role: 'database',
  kind: 'restore',
  from: second(1),
  to: second(2),
  ...more,
});
const faults = (...outages: readonly Outage[]) => ({ outages, missed: [], stops: [], unexpectedEnds: [] });

describe('the promises of a seed', () => {
  it('are kept when each planned store was full once', () => {
    const promises = { limits: [full(false)], databaseLosesData: false, brokerFaults: [] };
    expect(brokenPromises(aSoak({ promises, limits: [full(false), full(true)] }))).toEqual([]);
    expect(brokenPromises(aSoak({ promises, limits: [full(false)] }))).toEqual([
      'BLOBS full was planned, and never came true.',
    ]);
  });

  it('are broken when the database was to lose its data and did not', () => {
    const promises = { limits: [], databaseLosesData: true, brokerFaults: [] };
    expect(brokenPromises(aSoak({ promises, faults: faults(restored()) }))).toEqual([]);
    expect(
      brokenPromises(aSoak({ promises, faults: faults(restored({ changedNothing: true })) })),
    ).toHaveLength(1);
  });
});

it('a soak that lost facts for good proves nothing, as it says', () => {
  expect(brokenPromises(aSoak({ unarchived: 0 }))).toEqual([]);
  expect(brokenPromises(aSoak({ unarchived: 7 }))).toEqual([expect.stringContaining('7 messages left it')]);
});

describe('the promises of a seed for a cluster of brokers', () => {
  it('are kept when each planned fault had an effect once', () => {
    const [fill, kill] = [
      { kind: 'fill', victims: 'one with a disk' },
      { kind: 'kill', victims: 'leader' },
    ] as const;
    const promises = { limits: [], databaseLosesData: false, brokerFaults: [fill, kill, fill] };
    const killed = { ...kill, hadEffect: true };
    const filled = (hadEffect: boolean) => ({ ...fill, hadEffect });
    const brokerFaults = [filled(false), killed, filled(true)];
    expect(brokenPromises(aSoak({ promises, brokerFaults }))).toEqual([]);
    expect(brokenPromises(aSoak({ promises, brokerFaults: [filled(false), killed] }))).toEqual([
      'Of the brokers fill one with a disk was planned, and never came true.',
    ]);
  });
});

describe('faults without effect', () => {
  it('are named', () => {
    const missed = [{ part: 'gateway-1', kind: 'kill' }] as const;
    const evidence = aSoak({
      limits: [full(false), full(true)],
      faults: { ...faults(restored({ changedNothing: true })), missed },
    });
    expect(withoutEffect(evidence)).toEqual(
      expect.arrayContaining([
        'BLOBS full',
        'database restore',
        'gateway-1 kill (it was down)',
        'quota of uploads',
      ]),
    );
  });

  it('are not the quotas for which the glutton was refused something', () => {
    const why = '{"detail":"The organisation has reached its limit of queued runs, so nothing was queued"}';
    const taking = { resource: 'queued_runs', gateway: 'one', at: second(1), status: 429, why } as const;
    expect(quotaRefusals(aSoak({ records: { takings: [taking] } })).get('queued_runs')).toBe(1);
  });
});

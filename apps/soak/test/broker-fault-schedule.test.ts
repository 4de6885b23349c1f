import { describe, expect, it } from 'vitest';
import { brokerFaults, type BrokerFault } from '../src/faults/broker-faults.ts';
import { randomFrom } from '@runledger/testing/random-source';
import { BRIEF, SMALL } from '../src/size.ts';

const first = (count: number, seed = 7): BrokerFault[] =>
  brokerFaults(randomFrom(seed), SMALL, true).take(count).toArray();
const whatOf = ({ kind, victims }: BrokerFault): string => `${kind} ${victims}`;

describe('the faults of a cluster of brokers', () => {
  it('are repeated by a seed', () => {
    expect(first(30)).toEqual(first(30));
    expect(first(30)).not.toEqual(first(30, 8));
  });

  it('are of every kind before one comes again', () => {
    const [one, other] = [first(12).map(whatOf), first(24).slice(12).map(whatOf)];
    expect(new Set(one).size).toBe(SMALL.leastBrokerFaults);
    expect(one).not.toEqual(other);
    expect(other.toSorted()).toEqual(one.toSorted());
  });

  it('begin with a killed leader and a paused follower', () => {
    for (const seed of [1, 2, 3])
      expect(first(BRIEF.leastBrokerFaults, seed).map(whatOf).toSorted()).toEqual([
        'kill leader',
        'pause follower',
      ]);
  });

  it('fill a disk only where a broker has one', () => {
    const without = brokerFaults(randomFrom(7), SMALL, false).take(50).toArray();
    expect(without.map(({ kind }) => kind)).not.toContain('fill');
    expect(first(12).filter(({ kind }) => kind === 'fill')).toMatchObject([{ victims: 'one with a disk' }]);
  });

  it('respect the limits of the size', () => {
    for (const { afterMs, forMs } of first(50)) {
      expect(afterMs).toBeLessThanOrEqual(SMALL.brokerFaultGapMs[1]);
      expect(forMs).toBeGreaterThanOrEqual(SMALL.brokerDownMs[0]);
    }
  });

  it('leave a broker that kept its data whenever one loses it', () => {
    const emptied = first(50).filter(({ kind }) => kind === 'empty');
    expect(new Set(emptied.map(({ victims }) => victims))).toEqual(new Set(['leader', 'follower']));
  });
});

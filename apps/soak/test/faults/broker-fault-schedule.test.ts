import { describe, expect, it } from 'vitest';
import { brokerFaults, type BrokerFault } from '../../src/faults/broker-fault-schedule.ts';
import { randomFrom } from '../../src/parameters/random-source.ts';
import { SMALL } from '../../src/parameters/size.ts';

const first = (count: number, seed = 7): BrokerFault[] =>
  brokerFaults(randomFrom(seed), SMALL).take(count).toArray();
const whatOf = ({ kind, victims }: BrokerFault): string => `${kind} ${victims}`;

describe('the faults of a cluster of brokers', () => {
  it('are repeated by a seed', () => {
    expect(first(30)).toEqual(first(30));
    expect(first(30)).not.toEqual(first(30, 8));
  });

  it('are of every kind before one comes again', () => {
    expect(new Set(first(11).map(whatOf)).size).toBe(11);
    expect(first(11).map(whatOf)).not.toEqual(first(22).slice(11).map(whatOf));
    expect(first(22).slice(11).map(whatOf).toSorted()).toEqual(first(11).map(whatOf).toSorted());
  });

  it('respect the limits of the size', () => {
    for (const { afterMs, forMs } of first(50)) {
      expect(afterMs).toBeLessThanOrEqual(SMALL.faultGapMs[1]);
      expect(forMs).toBeGreaterThanOrEqual(SMALL.brokerDownMs[0]);
    }
  });

  it('leave a broker that kept its data whenever one loses it', () => {
    const emptied = first(50).filter(({ kind }) => kind === 'empty');
    expect(new Set(emptied.map(({ victims }) => victims))).toEqual(new Set(['leader', 'follower']));
  });
});

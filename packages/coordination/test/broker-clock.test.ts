import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrokerClock } from '../src/broker-clock.ts';

const MINUTE_MS = 60_000;

describe("the estimate of the broker's clock", () => {
  it('is unknown before the first sample', () => expect(new BrokerClock().at(1_000)).toBeUndefined());

  it('continues with monotonic time', () => {
    const clock = new BrokerClock();
    clock.sample(5_000_000, 1_000);
    expect(clock.at(3_500)).toBe(5_002_500);
  });

  it('is never ahead of the broker, and as near as the least delayed message', () => {
    const delays = fc.array(fc.nat({ max: 10_000 }), { minLength: 1 });
    fc.assert(
      fc.property(delays, fc.integer({ min: -1_000_000, max: 1_000_000 }), (delays, offset) => {
        const clock = new BrokerClock();
        let at = 0;
        for (const delay of delays) {
          at += 1_000;
          clock.sample(at - delay + offset, at);
        }
        expect(clock.at(at)).toBe(at + offset - Math.min(...delays));
      }),
    );
  });

  it('is not delayed by the old facts that a rebuild reads', () => {
    const clock = new BrokerClock();
    for (let age = 1_000; age > 0; age -= 1) clock.sample(1_000_000 - age * MINUTE_MS, 10);
    clock.sample(1_000_000, 10);
    expect(clock.at(10)).toBe(1_000_000);
  });

  it('follows a clock that was set back, after ten minutes', () => {
    const clock = new BrokerClock();
    clock.sample(10_000_000, 0);
    for (let at = 1; at <= 11; at += 1) clock.sample(5_000_000 + at * MINUTE_MS, at * MINUTE_MS);
    expect(clock.at(11 * MINUTE_MS)).toBe(5_000_000 + 11 * MINUTE_MS);
  });

  it('follows it after two windows of the given length', () => {
    const clock = new BrokerClock(MINUTE_MS);
    clock.sample(10_000_000, 0);
    clock.sample(5_000_000 + MINUTE_MS, MINUTE_MS);
    expect(clock.at(MINUTE_MS)).toBe(10_000_000 + MINUTE_MS);
    clock.sample(5_000_000 + 2 * MINUTE_MS, 2 * MINUTE_MS);
    expect(clock.at(2 * MINUTE_MS)).toBe(5_000_000 + 2 * MINUTE_MS);
  });

  it('follows it at once when a response shows it', () => {
    const clock = new BrokerClock();
    clock.sample(10_000_000, 0, 0);
    // An old fact that is read again says nothing about the clock of now.
    clock.sample(5_000_000, 2_000);
    expect(clock.at(2_000)).toBe(10_002_000);
    clock.sample(5_003_000, 3_020, 3_000);
    expect(clock.at(3_020)).toBe(5_003_000);
  });

  it('is not set back by a slow response, or by less than a second', () => {
    const clock = new BrokerClock();
    clock.sample(10_000_000, 0, 0);
    clock.sample(10_001_000, 9_000, 1_000);
    clock.sample(10_009_100, 10_000, 10_000);
    expect(clock.at(10_000)).toBe(10_010_000);
  });

  it('ignores an invalid stamp', () => {
    const clock = new BrokerClock();
    clock.sample(Number.NaN, 0);
    expect(clock.at(0)).toBeUndefined();
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PARTITIONS, partitionOf } from '../../src/deliveries/timers.ts';

describe('the partition of an origin', () => {
  it('is one of 16', () => {
    fc.assert(
      fc.property(fc.string(), (origin) => {
        expect(Array.from({ length: PARTITIONS }, (_, partition) => partition)).toContain(
          partitionOf(origin),
        );
      }),
    );
  });

  it('is the same in every release, because subjects contain it', () => {
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
      const partition = partitionOf(`https://host-${n}.example.com`);
      counts[partition] = (counts[partition] ?? 0) + 1;
    }
    for (const count of counts) {
      expect(count).toBeGreaterThan(850);
      expect(count).toBeLessThan(1_150);
    }
  });
});

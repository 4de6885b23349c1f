import { describe, expect, it } from 'vitest';
import { backoff } from '../src/backoff.ts';
import { retry, type RetryOptions } from '../src/retry.ts';

class Unavailable extends Error {}

const options = {
  isUnavailable: (error: unknown) => error instanceof Unavailable,
  firstMs: 1,
  longestMs: 4,
} satisfies RetryOptions;

describe('delays', () => {
  it('double up to the longest one and begin again after a reset', () => {
    const delays = backoff({ firstMs: 100, longestMs: 350, random: () => 0 });
    expect([1, 2, 3, 4].map(() => delays.next())).toEqual([100, 200, 350, 350]);
    delays.reset();
    expect(delays.next()).toBe(100);
  });

  it('are shortened by at most a half, at random', () => {
    const delays = backoff({ firstMs: 100, longestMs: 100 });
    for (let n = 0; n < 100; n += 1) {
      const delay = delays.next();
      expect(delay).toBeGreaterThanOrEqual(50);
      expect(delay).toBeLessThanOrEqual(100);
    }
  });
});

describe('retried work', () => {
  it('gives its result after the first success', async () => {
    const retries: number[] = [];
    const result = await retry({ ...options, onRetry: (_, n) => retries.push(n) }, async (n) => {
      if (n < 4) throw new Unavailable();
      return n;
    });
    expect(result).toBe(4);
    expect(retries).toEqual([1, 2, 3]);
  });

  it('throws an error at once if it is no outage', async () => {
    let tries = 0;
    const work = retry(options, async () => {
      tries += 1;
      throw new RangeError('wrong');
    });
    await expect(work).rejects.toThrow('wrong');
    expect(tries).toBe(1);
  });

  it('throws the last error when the next wait would exceed the time', async () => {
    const began = performance.now();
    const waits = { ...options, withinMs: 50, leastMs: () => 60_000 };
    await expect(retry(waits, () => Promise.reject(new Unavailable('still unavailable')))).rejects.toThrow(
      'still unavailable',
    );
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it('ends with the reason of the signal, during a try and during a wait', async () => {
    for (const work of [() => new Promise<never>(() => undefined), () => Promise.reject(new Unavailable())]) {
      const controller = new AbortController();
      const retried = retry({ ...options, signal: controller.signal }, work);
      controller.abort(new Error('stopped'));
      await expect(retried).rejects.toThrow('stopped');
    }
  });
});

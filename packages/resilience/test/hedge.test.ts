import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { hedge } from '../src/hedge.ts';

/** Requests that the test answers, and when each was sent. */
const hedged = (requests: number) => {
  const sent: { atMs: number; resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
  const result = hedge({ afterMs: 100, requests }, () => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    sent.push({ atMs: performance.now(), resolve, reject });
    return promise;
  });
  return { sent, result };
};

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

describe('a hedged request', () => {
  it('is sent again after growing waits, and no more often than it may', async () => {
    const { sent, result } = hedged(4);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 100, 300, 700]);
    sent[0]?.resolve('the first');
    expect(await result).toBe('the first');
  });

  it.each([0, 1, 2])(
    'has the first response, here to request %d of 3, and is not sent again',
    async (which) => {
      const { sent, result } = hedged(4);
      await vi.advanceTimersByTimeAsync(300);
      sent[which]?.resolve(`response ${which}`);
      expect(await result).toBe(`response ${which}`);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(sent).toHaveLength(3);
    },
  );

  it('fails with the first error, and is not sent again', async () => {
    const { sent, result } = hedged(4);
    await vi.advanceTimersByTimeAsync(100);
    sent[1]?.reject(new Error('refused'));
    await expect(result).rejects.toThrow('refused');
    sent[0]?.reject(new Error('late'));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent).toHaveLength(2);
  });

  it('is sent once when a response comes in time', async () => {
    const { sent, result } = hedged(4);
    sent[0]?.resolve('at once');
    expect(await result).toBe('at once');
    expect(vi.getTimerCount()).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import { keyedMutex } from '../src/keyed-mutex.ts';

describe('a keyed mutex', () => {
  it('runs work one after the other under one key, and side by side under two', async () => {
    const mutex = keyedMutex();
    const first = Promise.withResolvers<string>();
    const seen: string[] = [];
    const slow = mutex('a', () => first.promise);
    const next = mutex('a', async () => seen.push('a'));
    await mutex('b', async () => seen.push('b'));
    expect(seen).toEqual(['b']);
    first.resolve('done');
    expect(await slow).toBe('done');
    await next;
    expect(seen).toEqual(['b', 'a']);
  });

  it('continues after failed work, which only rejects for its own caller', async () => {
    const mutex = keyedMutex();
    const failing = mutex('a', async () => {
      throw new Error('in vain');
    });
    const next = mutex('a', async () => 'done');
    await expect(failing).rejects.toThrow('in vain');
    expect(await next).toBe('done');
  });

  it('rejects no work, however much waits', async () => {
    const mutex = keyedMutex();
    const work = Array.from({ length: 2_000 }, (_, n) => mutex('a', async () => n));
    expect(await Promise.all(work)).toHaveLength(2_000);
  });
});

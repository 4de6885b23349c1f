import { describe, expect, it } from 'vitest';
import { within } from '../src/within.ts';

const never = new Promise<never>(() => undefined);

describe('work with a time limit', () => {
  it('gives its result or its error', async () => {
    expect(await within(1_000, Promise.resolve('done'), () => 'late')).toBe('done');
    await expect(within(1_000, Promise.reject(new Error('no')), () => 'late')).rejects.toThrow('no');
  });

  it('gives the fallback when it is late, or rejects with the error of the fallback', async () => {
    expect(await within(5, never, () => 'late')).toBe('late');
    const late = within(5, never, () => {
      throw new RangeError('late');
    });
    await expect(late).rejects.toThrow(RangeError);
  });

  it('is late almost at once with no time left', async () => {
    expect(await within(-5, never, () => 'late')).toBe('late');
  });

  it('may fail after the limit without an unhandled rejection', async () => {
    const work = Promise.withResolvers<string>();
    expect(await within(1, work.promise, () => 'late')).toBe('late');
    work.reject(new Error('too late'));
  });
});

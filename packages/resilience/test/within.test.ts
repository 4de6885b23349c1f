import { describe, expect, it } from 'vitest';
import { within } from '../src/within.ts';

const never = new Promise<never>(() => undefined);

describe('work within a time', () => {
  it('gives what it gives', async () => {
    expect(await within(1_000, Promise.resolve('done'), () => 'late')).toBe('done');
    await expect(within(1_000, Promise.reject(new Error('no')), () => 'late')).rejects.toThrow('no');
  });

  it('that is late gives the fallback, or rejects with what the fallback throws', async () => {
    expect(await within(5, never, () => 'late')).toBe('late');
    const late = within(5, never, () => {
      throw new RangeError('late');
    });
    await expect(late).rejects.toThrow(RangeError);
  });

  it('is late almost at once when there is no time', async () => {
    expect(await within(-5, never, () => 'late')).toBe('late');
  });

  it('that fails when it is late already disturbs nobody', async () => {
    const work = Promise.withResolvers<string>();
    expect(await within(1, work.promise, () => 'late')).toBe('late');
    work.reject(new Error('too late'));
  });
});

import { describe, expect, it } from 'vitest';
import { inTurns } from '../../src/connect/in-turns.ts';

describe('work in turns', () => {
  it('is done one after the other under one name, and side by side under two', async () => {
    const inTurn = inTurns();
    const first = Promise.withResolvers<string>();
    const seen: string[] = [];
    const slow = inTurn('a', () => first.promise);
    const next = inTurn('a', async () => seen.push('a'));
    await inTurn('b', async () => seen.push('b'));
    expect(seen).toEqual(['b']);
    first.resolve('done');
    expect(await slow).toBe('done');
    await next;
    expect(seen).toEqual(['b', 'a']);
  });

  it('goes on after work that failed, which only its own caller hears of', async () => {
    const inTurn = inTurns();
    const failing = inTurn('a', async () => {
      throw new Error('in vain');
    });
    const next = inTurn('a', async () => 'done');
    await expect(failing).rejects.toThrow('in vain');
    expect(await next).toBe('done');
  });
});

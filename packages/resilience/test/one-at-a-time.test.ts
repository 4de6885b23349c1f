import { setImmediate as endOfTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { oneAtATimeByKey } from '../src/one-at-a-time.ts';

/** Work that ends when the test says so. */
const heldWork = () => {
  const begun: { key: string; at: number; end: (failed: boolean) => void }[] = [];
  let now = 0;
  const running = new Map<string, number>();
  let mostOfOneKey = 0;
  const run = oneAtATimeByKey(async (key: string) => {
    const count = (running.get(key) ?? 0) + 1;
    running.set(key, count);
    mostOfOneKey = Math.max(mostOfOneKey, count);
    const ended = Promise.withResolvers<void>();
    const at = (now += 1);
    const end = (failed: boolean): void =>
      failed ? ended.reject(new Error(`${key} failed`)) : ended.resolve();
    begun.push({ key, at, end });
    try {
      await ended.promise;
      return at;
    } finally {
      running.set(key, count - 1);
    }
  });
  return { run, begun, tick: () => (now += 1), mostOfOneKey: () => mostOfOneKey };
};

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await endOfTurn();
};

describe('work that runs one at a time for each key', () => {
  it('begins after each of its calls, runs once at a time, and calls that wait share the next run', async () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b'), kind: fc.constantFrom('call', 'end', 'fail') });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { run, begun, tick, mostOfOneKey } = heldWork();
        const calls: { calledAt: number; result: Promise<number> }[] = [];
        for (const { key, kind } of steps) {
          if (kind === 'call') {
            const calledAt = tick();
            const result = run(key);
            result.catch(() => undefined);
            calls.push({ calledAt, result });
          } else begun.findLast((one) => one.key === key)?.end(kind === 'fail');
          await settle();
        }
        // Ending a run may begin the next one.
        for (let ended = -1; ended < begun.length; await settle()) {
          ended = begun.length;
          begun.forEach(({ end }) => end(false));
        }
        const results = await Promise.allSettled(calls.map(({ result }) => result));
        const early = results.filter(
          (result, index) => result.status === 'fulfilled' && result.value < (calls[index]?.calledAt ?? 0),
        );
        expect(early).toEqual([]);
        expect(mostOfOneKey()).toBeLessThanOrEqual(1);
        expect(begun.length).toBeLessThanOrEqual(calls.length);
      }),
    );
  });

  it('shares one run between all calls of one turn of the event loop', async () => {
    const { run, begun } = heldWork();
    const calls = [run('a')];
    for (let later = 0; later < 20; later += 1) {
      await Promise.resolve();
      calls.push(run('a'));
    }
    await settle();
    expect(begun).toHaveLength(1);
    begun.forEach(({ end }) => end(false));
    expect(new Set(await Promise.all(calls)).size).toBe(1);
  });

  it('shares one run between all calls that waited for the one before, and does not wait for other keys', async () => {
    const { run, begun } = heldWork();
    const first = run('a');
    await settle();
    const waiting = [run('a'), run('a'), run('a')];
    const other = run('b');
    await settle();
    expect(begun.map(({ key }) => key)).toEqual(['a', 'b']);
    begun.forEach(({ end }) => end(false));
    await settle();
    expect(begun.map(({ key }) => key)).toEqual(['a', 'b', 'a']);
    begun.forEach(({ end }) => end(false));
    const [one, ...rest] = await Promise.all(waiting);
    expect(rest).toEqual([one, one]);
    expect(await Promise.all([first, other])).not.toContain(one);
  });
});

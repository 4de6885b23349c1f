import { expect, it } from 'vitest';
import { atMost } from '../../src/concurrency/at-most.ts';

it('so many works are done at once, the others in line, whatever becomes of them', async () => {
  const inLine = atMost(2);
  let now = 0;
  let most = 0;
  const order: number[] = [];
  const work = async (n: number): Promise<number> => {
    now += 1;
    most = Math.max(most, now);
    order.push(n);
    await new Promise(setImmediate);
    now -= 1;
    if (n % 3 === 0) throw new Error('it went wrong');
    return n;
  };
  const numbers = Array.from({ length: 9 }, (_, n) => n + 1);
  const done = await Promise.allSettled(numbers.map((n) => inLine(() => work(n))));
  expect(most).toBe(2);
  expect(order).toEqual(numbers);
  expect(done.map(({ status }) => status === 'fulfilled')).toEqual(numbers.map((n) => n % 3 !== 0));
  expect(await inLine(() => work(10))).toBe(10);
});

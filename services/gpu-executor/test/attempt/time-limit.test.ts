import { once } from 'node:events';
import { expect, it } from 'vitest';
import { openTimeLimit } from '../../src/attempt/time-limit.ts';

it('a time limit within another one knows which of the two is over', async () => {
  const { signal } = new AbortController();
  using outer = openTimeLimit(signal, 0);
  using inner = openTimeLimit(outer.signal, 60);
  inner.start();
  outer.start();
  await once(inner.signal, 'abort');
  expect([outer.isOver(), inner.isOver()]).toEqual([true, false]);
});

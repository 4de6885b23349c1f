import { errorOf } from '@runledger/contracts/events/run-error';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { workflowCache, type FetchedText } from '../../src/transfer/fetch-assigned.ts';

const text = (bytes: number): FetchedText => ({ kind: 'fetched', text: Buffer.alloc(bytes, 'x') });
const { signal: never } = new AbortController();
const aName = () => ({ org_id: newUuid(), sha256: 'a'.repeat(64) });

/** A fetch that the test ends, and how often it was called. */
const aFetch = () => {
  const calls: PromiseWithResolvers<FetchedText>[] = [];
  const fetch = (): Promise<FetchedText> => {
    const call = Promise.withResolvers<FetchedText>();
    calls.push(call);
    return call.promise;
  };
  return { calls, fetch };
};

describe('a cache of workflows', () => {
  it('fetches a workflow once for attempts at the same time, and not again later', async () => {
    const cache = workflowCache(1_000);
    const { calls, fetch } = aFetch();
    const name = aName();
    const both = Promise.all([cache.get(name, fetch, never), cache.get(name, fetch, never)]);
    calls[0]?.resolve(text(10));
    expect(await both).toEqual([text(10), text(10)]);
    expect(await cache.get(name, fetch, never)).toEqual(text(10));
    expect(calls).toHaveLength(1);
  });

  it('shares nothing between organisations', async () => {
    const cache = workflowCache(1_000);
    const { calls, fetch } = aFetch();
    const { sha256 } = aName();
    for (const org_id of [newUuid(), newUuid()]) {
      const got = cache.get({ org_id, sha256 }, fetch, never);
      calls.at(-1)?.resolve(text(10));
      await got;
    }
    expect(calls).toHaveLength(2);
  });

  it.each<FetchedText>([{ kind: 'stopped' }, { kind: 'refused', error: errorOf('internal_error', 'no') }])(
    'lets the next attempt fetch when the first one is $kind',
    async (outcome) => {
      const cache = workflowCache(1_000);
      const { calls, fetch } = aFetch();
      const name = aName();
      const [first, second] = [cache.get(name, fetch, never), cache.get(name, fetch, never)];
      calls[0]?.resolve(outcome);
      expect(await first).toEqual(outcome);
      await expect.poll(() => calls.length).toBe(2);
      calls[1]?.resolve(text(10));
      expect(await second).toEqual(text(10));
    },
  );

  it('does not hold up an attempt that stops while another one fetches', async () => {
    const cache = workflowCache(1_000);
    const { calls, fetch } = aFetch();
    const name = aName();
    const stop = new AbortController();
    const [first, second] = [cache.get(name, fetch, never), cache.get(name, fetch, stop.signal)];
    stop.abort();
    expect(await second).toEqual({ kind: 'stopped' });
    calls[0]?.resolve(text(10));
    expect(await first).toEqual(text(10));
  });

  it.each([
    [100, 'the least recently used leaves', 2],
    [30, 'one that is larger than the cache is not kept', 3],
    [0, 'nothing is kept', 3],
  ])('holds at most %i bytes: %s', async (maxBytes, _what, fetches) => {
    const cache = workflowCache(maxBytes);
    const { calls, fetch } = aFetch();
    const [first, second] = [aName(), aName()];
    const get = async (name: ReturnType<typeof aName>): Promise<void> => {
      const got = cache.get(name, fetch, never);
      calls.at(-1)?.resolve(text(60));
      await got;
    };
    await get(first);
    await get(second);
    await get(second);
    expect(calls).toHaveLength(fetches);
    await get(first);
    expect(calls).toHaveLength(fetches + 1);
  });
});

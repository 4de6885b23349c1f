import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { serverSentEvents } from '../../src/http/server-sent-events.ts';

const STREAM =
  'retry: 1000\n: hello\n\nid: 1\nevent: fact\ndata: {"a": 1}\n\n: waiting\n\nevent: progress\ndata: {}\n\n';

const collect = async <Item>(items: AsyncIterable<Item> | Iterable<Item>): Promise<Item[]> => {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
};

const eventsOf = async (pieces: readonly string[], onData = (): void => undefined) =>
  collect(serverSentEvents(Readable.from(pieces), onData));

describe('the events of a stream', () => {
  const fact = { event: 'fact', id: '1', data: '{"a": 1}' };
  const progress = { event: 'progress', id: undefined, data: '{}' };

  it('are read in order, and undefined stands for a comment', async () => {
    expect(await eventsOf([STREAM])).toEqual([undefined, fact, undefined, progress]);
  });

  it('are the same if the data arrives in other pieces', async () => {
    const onData = vi.fn<() => void>();
    expect(await eventsOf(STREAM.split(''), onData)).toEqual([undefined, fact, undefined, progress]);
    expect(onData).toHaveBeenCalledTimes(STREAM.length);
  });

  it('do not include one that was cut off', async () => {
    expect(await eventsOf(['id: 1\nevent: fact\ndata: {"a"'])).toEqual([]);
  });

  it('are none of a response without a body', async () => {
    expect(await eventsOf([])).toEqual([]);
  });

  it('end with an error at one that is too long', async () => {
    const piece = `data: ${'x'.repeat(1024 * 1024)}`;
    await expect(eventsOf(Array<string>(5).fill(piece))).rejects.toThrow('exceeded');
  });
});

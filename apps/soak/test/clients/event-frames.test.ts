import { describe, expect, it } from 'vitest';
import { frameReader } from '../../src/clients/event-frames.ts';

const STREAM =
  'retry: 1000\n: hello\n\nid: 1\nevent: fact\ndata: {"a": 1}\n\n: waiting\n\nevent: progress\ndata: {}\n\n';

describe('the events of a stream', () => {
  const expected = [
    { event: 'fact', id: '1', data: '{"a": 1}' },
    { event: 'progress', id: null, data: '{}' },
  ];

  it('are read whole, and comments are none', () => {
    expect(frameReader()(STREAM)).toEqual(expected);
  });

  it('may come in any pieces', () => {
    const read = frameReader();
    expect(STREAM.split('').flatMap((character) => read(character))).toEqual(expected);
  });

  it('that were cut off are none', () => {
    expect(frameReader()('id: 1\nevent: fact\ndata: {"a"')).toEqual([]);
  });
});

import type { StoredMessage } from '@runledger/contracts/fold/chain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergedByTime, type Sliced, type StreamPages } from '../../src/slices/slice-sources.ts';

const STREAMS = ['FLEET', 'RUNS', 'DELIVERY_ATTEMPTS'] as const;

const messageAt = (time: string, sequence: number): StoredMessage => ({
  subject: '',
  sequence,
  time,
  fence: null,
  expectedSequence: null,
  body: {},
});

/** Pages with the minutes of their messages. */
const anyPages = fc.array(fc.array(fc.integer({ min: 0, max: 59 }), { maxLength: 4 }), { maxLength: 5 });

const streamOf = (stream: Sliced['stream'], pages: readonly (readonly number[])[]): StreamPages => {
  let sequence = 0;
  const inOrder = pages.flat().toSorted((a, b) => a - b);
  return {
    stream,
    pages: (async function* () {
      for (const page of pages)
        yield page.map(() => {
          const minute = String(inOrder[sequence]).padStart(2, '0');
          sequence += 1;
          return messageAt(`2026-05-01T12:${minute}:00.000Z`, sequence);
        });
    })(),
  };
};

const merged = async (streams: readonly StreamPages[]): Promise<Sliced[]> => {
  const all: Sliced[] = [];
  for await (const batch of mergedByTime(streams)) all.push(...batch);
  return all;
};

describe('messages of several streams by time', () => {
  it('are all messages, by time, then by stream, then by position', async () => {
    const property = fc.asyncProperty(fc.tuple(anyPages, anyPages, anyPages), async (pages) => {
      const all = await merged(STREAMS.map((stream, n) => streamOf(stream, pages[n] ?? [])));
      expect(all).toHaveLength(pages.flat(2).length);
      const keys = all.map(
        ({ stream, message: { time, sequence } }) =>
          `${time} ${STREAMS.indexOf(stream)} ${String(sequence).padStart(4, '0')}`,
      );
      expect(keys).toEqual(keys.toSorted());
    });
    await fc.assert(property);
  });

  it('keep the order of a stream whose times go back', async () => {
    const pages = (async function* () {
      yield [messageAt('2026-05-01T12:30:00.000Z', 1), messageAt('2026-05-01T12:10:00.000Z', 2)];
    })();
    const all = await merged([{ stream: 'RUNS', pages }, streamOf('FLEET', [[20]])]);
    expect(all.map(({ stream, message }) => `${stream} ${message.sequence}`)).toEqual([
      'FLEET 1',
      'RUNS 1',
      'RUNS 2',
    ]);
  });

  it('are read no further than the caller wants, and their readers are closed', async () => {
    let [read, closed] = [0, false];
    const pages = (async function* () {
      try {
        for (;;) {
          read += 1;
          yield Array.from({ length: 512 }, (_, n) => messageAt('2026-05-01T12:00:00.000Z', read * 512 + n));
        }
      } finally {
        closed = true;
      }
    })();
    for await (const batch of mergedByTime([{ stream: 'RUNS', pages }])) {
      expect(batch).toHaveLength(512);
      break;
    }
    expect({ read, closed }).toEqual({ read: 2, closed: true });
  });
});

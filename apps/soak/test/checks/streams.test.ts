import { describe, expect, it } from 'vitest';
import { streams } from '../../src/checks/streams.ts';
import type { StreamedFact } from '../../src/clients/client-records.ts';
import { aSoak, RUN, streamedFacts } from '../fixtures/a-soak.ts';

const messagesOf = (facts: readonly StreamedFact[], complete = true): string[] =>
  streams(aSoak({ records: { streams: [{ run: RUN.run_id, facts, connections: [], complete }] } })).map(
    (one) => one.message,
  );

describe('a stream', () => {
  it('delivers each fact once and in order', () => {
    expect(messagesOf(streamedFacts(1, 2, 3, 4))).toEqual([]);
  });

  it('skips no fact', () => {
    expect(messagesOf(streamedFacts(1, 3, 4))).toEqual([
      'Event 2 is RunStarted (3). There the log has RunAssigned (2).',
    ]);
    expect(messagesOf(streamedFacts(1, 2, 3))).toEqual(['The stream ended after 3 of 4 facts.']);
  });

  it('repeats no fact', () => {
    expect(messagesOf(streamedFacts(1, 2, 2, 3, 4))).toEqual([
      'Event 3 is RunAssigned (2). There the log has RunStarted (3).',
    ]);
    expect(messagesOf(streamedFacts(1, 2, 3, 4, 4))).toEqual([
      'Event 5 is RunSucceeded (4). There the log has no more facts.',
    ]);
  });

  it('may be incomplete if its client gave up', () => {
    expect(messagesOf(streamedFacts(1, 2), false)).toEqual([]);
  });

  it('uses the sequence of a fact as its id', () => {
    const [first, ...rest] = streamedFacts(1, 2, 3, 4);
    expect(messagesOf([...(first ? [{ ...first, id: '7' }] : []), ...rest])).toEqual([
      'The event with the id 7 is fact 1.',
    ]);
  });
});

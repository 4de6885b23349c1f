import { describe, expect, it } from 'vitest';
import { streams } from '../../src/checks/streams.ts';
import type { StreamedFact } from '../../src/clients/client-records.ts';
import type { LimitChange } from '../../src/faults/limit-changes.ts';
import { aSoak, RUN, second, streamedFacts } from '../fixtures/a-soak.ts';

const messagesOf = (
  facts: readonly StreamedFact[],
  complete = true,
  limits: readonly LimitChange[] = [],
): string[] =>
  streams(
    aSoak({ limits, records: { streams: [{ run: RUN.run_id, facts, connections: [], complete }] } }),
  ).map((one) => one.message);

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

  it('begins with the last state when the log had forgotten the facts up to it, and skips nothing behind', () => {
    const [first, ...rest] = streamedFacts(2, 3, 4);
    if (!first) throw new Error('there are facts');
    const state = { ...first, fact: { ...first.fact, type: null } };
    const forgot: LimitChange = {
      store: 'RUNS',
      kind: 'forgetful',
      from: second(40),
      to: second(60),
      lost: 2,
      hadEffect: true,
    };
    expect(messagesOf([state, ...rest], true, [forgot])).toEqual([]);
    expect(messagesOf([state, ...rest.slice(1)], true, [forgot])).toHaveLength(1);
    expect(messagesOf([state, ...rest.slice(0, 1)], true, [forgot])).toHaveLength(1);
    expect(messagesOf([state, ...rest])).toHaveLength(1);
    expect(messagesOf([state, ...rest], true, [{ ...forgot, to: second(10) }])).toHaveLength(1);
  });

  it('uses the sequence of a fact as its id', () => {
    const [first, ...rest] = streamedFacts(1, 2, 3, 4);
    expect(messagesOf([...(first ? [{ ...first, id: '7' }] : []), ...rest])).toEqual([
      'The event with the id 7 is fact 1.',
    ]);
  });
});

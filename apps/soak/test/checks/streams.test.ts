import { describe, expect, it } from 'vitest';
import { streams } from '../../src/checks/streams.ts';
import type { StreamedFact } from '../../src/clients/client-records.ts';
import { aSoak, RUN, toldFacts } from '../fixtures/a-soak.ts';

const says = (told: readonly StreamedFact[], complete = true): string[] =>
  streams(aSoak({ records: { streams: [{ run: RUN.run_id, facts: told, connections: [], complete }] } })).map(
    (one) => one.says,
  );

describe('a stream', () => {
  it('tells each fact once and in order', () => {
    expect(says(toldFacts(1, 2, 3, 4))).toEqual([]);
  });

  it('leaves none out', () => {
    expect(says(toldFacts(1, 3, 4))).toEqual([
      'Told as number 2: RunStarted (3); the log has RunAssigned (2) there.',
    ]);
    expect(says(toldFacts(1, 2, 3))).toEqual(['The stream ended after 3 of 4 facts.']);
  });

  it('repeats none', () => {
    expect(says(toldFacts(1, 2, 2, 3, 4))).toEqual([
      'Told as number 3: RunAssigned (2); the log has RunStarted (3) there.',
    ]);
    expect(says(toldFacts(1, 2, 3, 4, 4))).toEqual([
      'Told as number 5: RunSucceeded (4); the log has no more facts there.',
    ]);
  });

  it('that its client gave up may be cut short', () => {
    expect(says(toldFacts(1, 2), false)).toEqual([]);
  });

  it('gives each fact its place as id', () => {
    const [first, ...rest] = toldFacts(1, 2, 3, 4);
    expect(says([...(first ? [{ ...first, id: '7' }] : []), ...rest])).toEqual([
      'The event with the id 7 tells of fact 1.',
    ]);
  });
});

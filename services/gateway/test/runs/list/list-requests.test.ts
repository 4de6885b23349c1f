import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import { runId } from '@runledger/contracts/ids';
import { Type } from 'typebox';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cursorAt } from '../../../src/door/pagination.ts';
import { checkBulkCursor, checkRunCursor, listRange, sortKeyAt } from '../../../src/runs/filter.ts';
import { wordsIn } from '../../../src/door/checked-request.ts';
import { sortKeyOf } from '../../../src/views/sort-key.decide.ts';

const place = sortKeyOf({
  created_at: '2026-01-31T09:30:00.001Z',
  number: 17,
  run_id: runId('01920000-0000-7000-8000-000000000001'),
});
const problemsOf = (cursor: string) => checkRunCursor({ query: { cursor }, body: undefined });
const refused = [
  { loc: ['query', 'cursor'], type: 'value_error', msg: expect.stringContaining('next_cursor') },
];

describe('a cursor', () => {
  it('leads back to where a page ended', () => {
    const cursor = cursorAt(place) ?? '';
    expect(cursor).toMatch(/^[\w-]{1,512}$/);
    expect(problemsOf(cursor ?? '')).toEqual([]);
    expect(sortKeyAt(cursor)).toBe(place);
  });

  it('is null after the last page, and omitted before the first', () => {
    expect([cursorAt(undefined), sortKeyAt(undefined), sortKeyAt(null)]).toEqual([
      null,
      undefined,
      undefined,
    ]);
  });

  it.each(['', 'x', 'MTIz', '..%00', `${cursorAt(place)}AAAA`, cursorAt(place)?.slice(1)])(
    'is refused when it is from no page: %s',
    (cursor) => {
      expect(problemsOf(cursor ?? '')).toEqual(refused);
      expect(() => sortKeyAt(cursor)).toThrow(TypeError);
    },
  );

  it('may be any text, and leaves other types to the schema', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.base64String()), (text) => {
        expect(problemsOf(text)).toEqual(refused);
      }),
    );
    const others = [{ cursor: null }, {}, { cursor: 5 }, { cursor: {} }];
    expect(others.flatMap((body) => checkBulkCursor({ query: undefined, body }))).toEqual([]);
  });
});

describe('a span', () => {
  it('has the given ends, at their times', () => {
    expect(
      listRange({ created_after: '2026-01-31', created_before: '2026-01-31T10:00:00+01:00' }, place),
    ).toEqual({
      createdAfter: new Date('2026-01-31T00:00:00.000Z'),
      createdBefore: new Date('2026-01-31T09:00:00.000Z'),
      behind: place,
    });
    expect(listRange({ created_after: null }, undefined)).toEqual({});
  });
});

describe('a list of words in a query or a body', () => {
  const Word = Type.Enum(['queued', 'failed']);
  it.each([
    [' failed ,queued,failed', ['failed', 'queued']],
    ['queued', ['queued']],
    [
      ['queued', 'failed', 'queued'],
      ['queued', 'failed'],
    ],
    [[], []],
    [null, undefined],
    [undefined, undefined],
  ])('%j is read as %j', (given, words) => {
    expect(wordsIn(Word, given)).toEqual(words);
  });
});

import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { Cursor, PageLimit, TimeOrDay, Uuid, wordsOf } from '../../src/http/fields.ts';
import { nullable, optional } from '../../src/schemas.ts';

describe('a time in a request', () => {
  const schema = Compile(TimeOrDay);

  it.each([
    '2026-01-31',
    '2024-02-29',
    '2026-01-31T09:30Z',
    '2026-01-31T09:30:00Z',
    '2026-01-31T09:30:00.5Z',
    '2026-01-31T09:30:00.123456789Z',
    '2026-01-31T09:30:00+14:00',
    '2026-01-31T09:30:00-03:30',
  ])('may be %s', (text) => {
    expect(schema.Check(text)).toBe(true);
  });

  it.each([
    '',
    'yesterday',
    '5',
    '2026-1-31',
    '2026-13-01',
    '2026-01-32',
    '2026-02-29',
    '2026-02-30',
    '2026-04-31',
    '2026-02-30T09:30:00Z',
    '2026-01-31T09:30:00',
    '2026-01-31 09:30:00Z',
    '2026-01-31T25:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T09:60:00Z',
    '2026-01-31T09:30:61Z',
    '2026-01-31T09:30:00+24:00',
    '2026-01-31T09:30:00z',
    '2026-01-31Z',
    '+002026-01-31',
    '2026-01-31\n',
  ])('is not %j', (text) => {
    expect(schema.Check(text)).toBe(false);
  });
});

describe('a list of words', () => {
  const schema = Compile(wordsOf(Type.Enum(['not-started', 'queued'])));

  it.each(['queued', ' queued , not-started', 'queued,queued', ['queued', 'not-started'], []])(
    'may be %j',
    (words) => {
      expect(schema.Check(words)).toBe(true);
    },
  );

  it.each([
    '',
    ',',
    'queued,',
    ',queued',
    'queued queued',
    'QUEUED',
    'queued\n',
    ['queued,queued'],
    [' queued'],
    5,
  ])('is not %j', (words) => {
    expect(schema.Check(words)).toBe(false);
  });

  it('of many kilobytes is checked fast', () => {
    expect(schema.Check(`${'queued, '.repeat(100_000)}x`)).toBe(false);
    expect(schema.Check(`queued${' '.repeat(500_000)}x`)).toBe(false);
  });
});

describe('a member', () => {
  it('of a request may be omitted or null; of a response it is present and may be null', () => {
    const given = Compile(Type.Object({ a: optional(Type.String()) }));
    const gives = Compile(Type.Object({ a: nullable(Type.String()) }));
    expect([{}, { a: null }, { a: '' }].map((value) => given.Check(value))).toEqual([true, true, true]);
    expect([{}, { a: null }, { a: '' }].map((value) => gives.Check(value))).toEqual([false, true, true]);
    expect([given, gives].map((schema) => schema.Check({ a: 5 }))).toEqual([false, false]);
  });
});

describe('other fields', () => {
  it.each([
    [Uuid, '01920000-0000-7000-8000-00000000000A', true],
    [Uuid, '00000000-0000-0000-0000-000000000000', true],
    [Uuid, '01920000000070008000000000000001', false],
    [Uuid, 'urn:uuid:01920000-0000-7000-8000-000000000001', false],
    [Uuid, '01920000-0000-7000-8000-000000000001\n', false],
    [PageLimit, 1, true],
    [PageLimit, 100, true],
    [PageLimit, 0, false],
    [PageLimit, 101, false],
    [Cursor, 'x'.repeat(512), true],
    [Cursor, 'x'.repeat(513), false],
  ])('%j, %j: %s', (schema, value, fits) => {
    expect(Compile(schema).Check(value)).toBe(fits);
  });
});

import fc from 'fast-check';
import { Format, IsDateTime, IsUuid } from 'typebox/format';
import { describe, expect, it } from 'vitest';
import '../../src/events/event-envelope.ts';

/** The text with some of its characters replaced, left out or written twice. */
const nearly = (text: string, characters: string): fc.Arbitrary<string> => {
  const changed = fc.oneof(fc.constantFrom(...characters.split('')), fc.constantFrom('', undefined));
  return fc.array(fc.tuple(fc.nat(text.length - 1), changed), { maxLength: 3 }).map((changes) => {
    const written = text.split('');
    for (const [at, character] of changes) written[at] = character ?? `${written[at]}${written[at]}`;
    return written.join('');
  });
};

const times = fc.oneof(
  nearly('2024-02-29T23:59:60.123Z', '0123456789-:.+tTzZ[ '),
  fc
    .tuple(fc.nat(9999), fc.nat(13), fc.nat(32), fc.nat(24), fc.nat(60), fc.nat(61))
    .map(([year, ...rest]) => [String(year).padStart(4, '0'), ...rest.map((n) => String(n).padStart(2, '0'))])
    .map(([year, month, day, h, m, s]) => `${year}-${month}-${day}T${h}:${m}:${s}Z`),
);

describe('the formats of events', () => {
  it('accept the times that the format of typebox accepts, and no others', () => {
    fc.assert(
      fc.property(times, (text) => {
        expect(Format.Test('date-time', text)).toBe(IsDateTime(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('accept the UUIDs that the format of typebox accepts, and no others', () => {
    fc.assert(
      fc.property(nearly('01920000-0000-7000-8000-0000000000ff', '0aAfFgG-'), (text) => {
        expect(Format.Test('uuid', text)).toBe(IsUuid(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

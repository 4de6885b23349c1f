import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  packIds,
  unpackIds,
  type PackableIds,
  packUuid,
  newRowPage,
  PAGE_ROWS,
  ROW_WORDS,
} from '../../../src/core/runs/packed-rows.ts';

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: length, maxLength: length });
const uuid = fc.uuid();
const traceparent = fc
  .tuple(fc.constantFrom('00', '00', '01'), hex(32), hex(16), hex(2))
  .map((parts) => parts.join('-'));
const text = fc.oneof(
  fc.string({ maxLength: 60 }),
  uuid.map((id) => id.toUpperCase()),
  uuid.map((id) => id.replace('-', '0')),
);
const ids: fc.Arbitrary<PackableIds> = fc.record({
  event_id: fc.oneof(uuid, text, fc.constant(null)),
  correlation_id: fc.oneof(uuid, text),
  traceparent: fc.oneof(traceparent, text, fc.constant(null)),
});

describe('packed ids', () => {
  it('are read back as they were, whatever the row had before', () => {
    const page = newRowPage();
    fc.assert(
      fc.property(fc.nat({ max: PAGE_ROWS - 1 }), uuid, ids, (index, run_id, one) => {
        packUuid(run_id, page.ids, index * ROW_WORDS);
        expect(unpackIds(page, index, packIds(page, index, one))).toEqual({ run_id, ...one });
      }),
    );
  });

  it('take no text as a rule', () => {
    fc.assert(
      fc.property(uuid, uuid, hex(32), hex(16), (event_id, correlation_id, trace, span) => {
        const one = { event_id, correlation_id, traceparent: `00-${trace}-${span}-01` };
        expect(packIds(newRowPage(), 0, one)).toBeUndefined();
      }),
    );
  });
});

import { TRACE_WORDS, UUID_WORDS } from './packed-text.ts';

export const PAGE_BITS = 10;
export const PAGE_ROWS = 1 << PAGE_BITS;

/** Where the ids of a row are, in words from its first one. */
export const ID_WORDS = {
  run: 0,
  event: UUID_WORDS,
  correlation: 2 * UUID_WORDS,
  trace: 3 * UUID_WORDS,
} as const;
export const ROW_WORDS = 3 * UUID_WORDS + TRACE_WORDS;

/** Which ids a row has, and the flags of its traceparent. */
export const ROW_FLAGS = { traceFlags: 0xff, event: 0x100, correlation: 0x200, trace: 0x400 } as const;

/** The columns of some rows. A table of pages grows without being copied. */
export interface RowPage {
  /** 0 in a free row. */
  readonly numbers: Float64Array;
  /** Milliseconds since 1970. */
  readonly createdMs: Float64Array;
  readonly ids: Uint32Array;
  readonly flags: Uint16Array;
}

/** Begins with these rows. */
export const newRowPage = (rows?: RowPage): RowPage => {
  const page = {
    numbers: new Float64Array(PAGE_ROWS),
    createdMs: new Float64Array(PAGE_ROWS),
    ids: new Uint32Array(PAGE_ROWS * ROW_WORDS),
    flags: new Uint16Array(PAGE_ROWS),
  };
  if (!rows) return page;
  page.numbers.set(rows.numbers);
  page.createdMs.set(rows.createdMs);
  page.ids.set(rows.ids);
  page.flags.set(rows.flags);
  return page;
};

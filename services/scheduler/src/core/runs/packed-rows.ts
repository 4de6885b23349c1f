import type { RunRequest } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';

/** What few runs have, and ids that are no UUIDs. */
export type RowTexts = Partial<PackableIds> & {
  readonly concurrency_key?: string;
  readonly not_before?: string;
};

/** The request of rows, without what decisions do not need. */
export interface RowRequest {
  readonly org_id: OrgId;
  readonly request: RunRequest;
}

/** Copies of rows, without gaps between them. */
export interface PackedRows {
  readonly numbers: Float64Array;
  readonly createdMs: Float64Array;
  readonly flags: Uint16Array;
  readonly ids: Uint32Array;
  /** One for each row. */
  readonly requests: readonly RowRequest[];
  /** By index. */
  readonly texts: ReadonlyMap<number, RowTexts>;
}

/** The ids of a queued run, beside its own. */
export interface PackableIds {
  readonly event_id: string | null;
  readonly correlation_id: string;
  readonly traceparent: string | null;
}

/** Writes the ids into a row, and returns those that are texts of another kind; undefined for none. */
export const packIds = (
  { ids, flags }: RowPage,
  index: number,
  { event_id, correlation_id, traceparent }: PackableIds,
): Partial<PackableIds> | undefined => {
  const word = index * ROW_WORDS;
  const hasEvent = event_id !== null && packUuid(event_id, ids, word + ID_WORDS.event);
  const hasCorrelation = packUuid(correlation_id, ids, word + ID_WORDS.correlation);
  const traceFlags = traceparent === null ? -1 : packTraceparent(traceparent, ids, word + ID_WORDS.trace);
  flags[index] =
    (hasEvent ? ROW_FLAGS.event : 0) |
    (hasCorrelation ? ROW_FLAGS.correlation : 0) |
    (traceFlags < 0 ? 0 : ROW_FLAGS.trace | traceFlags);
  const isPacked =
    hasCorrelation && hasEvent === (event_id !== null) && traceFlags < 0 === (traceparent === null);
  if (isPacked) return undefined;
  return {
    ...(hasCorrelation ? {} : { correlation_id }),
    ...(hasEvent ? {} : { event_id }),
    ...(traceFlags < 0 ? { traceparent } : {}),
  };
};

/** With that of the run. `others` are those that are not in the row. */
export const unpackIds = (
  { ids, flags }: RowPage,
  index: number,
  others: Partial<PackableIds> | undefined,
): PackableIds & { readonly run_id: string } => {
  const has = flags[index] ?? 0;
  const texts = unpackTexts(ids, index * ROW_WORDS, has & ROW_FLAGS.traceFlags);
  return {
    run_id: textOf.uuid(texts, 0),
    event_id: has & ROW_FLAGS.event ? textOf.uuid(texts, 1) : (others?.event_id ?? null),
    correlation_id: has & ROW_FLAGS.correlation ? textOf.uuid(texts, 2) : (others?.correlation_id ?? ''),
    traceparent: has & ROW_FLAGS.trace ? textOf.traceparent(texts) : (others?.traceparent ?? null),
  };
};

/** Ids as binary numbers, which take a quarter of the memory of their texts. A word has 32 bits. */

const DIGITS = '0123456789abcdef';
const CODES = Uint8Array.from(DIGITS, (digit) => digit.charCodeAt(0));
const DASH = '-'.charCodeAt(0);
/** Values of hexadecimal digits in lower case by their codes; 16 for other characters. */
const VALUES = Int8Array.from({ length: 128 }, (_, code) => {
  const value = CODES.indexOf(code);
  return value < 0 ? 16 : value;
});
const DASHES_OF_UUID = [8, 13, 18, 23];
const UUID_LENGTH = 36;
export const UUID_WORDS = 4;

const TRACEPARENT_LENGTH = 55;
const DASHES_OF_TRACEPARENT = [2, 35, 52];
/** Of its trace and its span. Its version is 00, and its flags are a number of their own. */
const TRACE_WORDS = 6;

type Words = Uint32Array;

/** Writes a lower-case UUID as four words. False when the text is none, and then what is written is not defined. */
export const packUuid = (text: string, words: Words, at: number): boolean => {
  if (text.length !== UUID_LENGTH || !hasDashes(text, DASHES_OF_UUID)) return false;
  const invalid =
    packDigits(text, 0, 8, words, at) |
    packDigits(text, 9, 4, words, at + 1) |
    packDigits(text, 14, 4, words, at + 1) |
    packDigits(text, 19, 4, words, at + 2) |
    packDigits(text, 24, 4, words, at + 2) |
    packDigits(text, 28, 8, words, at + 3);
  return invalid === 0;
};

const flags = new Uint32Array(1);

/** Writes a W3C traceparent of version 00 as six words, and returns its flags; -1 when the text is none. */
const packTraceparent = (text: string, words: Words, at: number): number => {
  if (text.length !== TRACEPARENT_LENGTH || !text.startsWith('00-')) return -1;
  let invalid = hasDashes(text, DASHES_OF_TRACEPARENT) ? 0 : 16;
  for (let word = 0; word < 4; word += 1) invalid |= packDigits(text, 3 + 8 * word, 8, words, at + word);
  for (let word = 0; word < 2; word += 1) invalid |= packDigits(text, 36 + 8 * word, 8, words, at + 4 + word);
  flags[0] = 0;
  invalid |= packDigits(text, 53, 2, flags, 0);
  return invalid === 0 ? (flags[0] ?? -1) : -1;
};

const ZERO_UUID = '00000000-0000-0000-0000-000000000000';
const UUIDS = 3;
const codes = new TextEncoder().encode(ZERO_UUID.repeat(UUIDS) + `00-${'0'.repeat(32)}-${'0'.repeat(16)}-00`);
const ascii = new TextDecoder();

/** Three UUIDs and a traceparent that are packed one after the other, as one text: four texts take several times as long. */
const unpackTexts = (words: Words, at: number, flags: number): string => {
  for (let uuid = 0; uuid < UUIDS; uuid += 1) unpackUuid(words, at + uuid * UUID_WORDS, uuid * UUID_LENGTH);
  unpackTraceparent(words, at + UUIDS * UUID_WORDS, flags, UUIDS * UUID_LENGTH);
  return ascii.decode(codes);
};

/** Where they are in that text. */
const textOf = {
  uuid: (texts: string, index: number): string => texts.slice(index * UUID_LENGTH, (index + 1) * UUID_LENGTH),
  traceparent: (texts: string): string => texts.slice(UUIDS * UUID_LENGTH),
};

const unpackUuid = (words: Words, at: number, to: number): void => {
  const [second, third] = [words[at + 1] ?? 0, words[at + 2] ?? 0];
  unpackWord(words[at] ?? 0, to);
  unpackHalf(second >>> 16, to + 9);
  unpackHalf(second, to + 14);
  unpackHalf(third >>> 16, to + 19);
  unpackHalf(third, to + 24);
  unpackWord(words[at + 3] ?? 0, to + 28);
};

const unpackTraceparent = (words: Words, at: number, flags: number, to: number): void => {
  for (let word = 0; word < 4; word += 1) unpackWord(words[at + word] ?? 0, to + 3 + 8 * word);
  for (let word = 0; word < 2; word += 1) unpackWord(words[at + 4 + word] ?? 0, to + 36 + 8 * word);
  unpackByte(flags, to + 53);
};

const hasDashes = (text: string, indices: readonly number[]): boolean => {
  for (const index of indices) if (text.charCodeAt(index) !== DASH) return false;
  return true;
};

/** Shifts the digits into the word. Not 0 when one of them is none. */
const packDigits = (text: string, from: number, count: number, words: Words, at: number): number => {
  let word = words[at] ?? 0;
  let invalid = 0;
  for (let index = from; index < from + count; index += 1) {
    const code = text.charCodeAt(index);
    const value = code < 128 ? (VALUES[code] ?? 16) : 16;
    invalid |= value & 16;
    word = (word << 4) | (value & 15);
  }
  words[at] = word;
  return invalid;
};

const unpackWord = (word: number, to: number): void => {
  unpackHalf(word >>> 16, to);
  unpackHalf(word, to + 4);
};

/** The lower half of a word. */
const unpackHalf = (word: number, to: number): void => {
  unpackByte((word >>> 8) & 0xff, to);
  unpackByte(word & 0xff, to + 2);
};

const unpackByte = (byte: number, to: number): void => {
  codes[to] = CODES[byte >>> 4] ?? DASH;
  codes[to + 1] = CODES[byte & 15] ?? DASH;
};

export const PAGE_BITS = 10;
export const PAGE_ROWS = 1 << PAGE_BITS;

/** Where the ids of a row are, in words from its first one. */
const ID_WORDS = {
  run: 0,
  event: UUID_WORDS,
  correlation: 2 * UUID_WORDS,
  trace: 3 * UUID_WORDS,
} as const;
export const ROW_WORDS = 3 * UUID_WORDS + TRACE_WORDS;

/** Which ids a row has, and the flags of its traceparent. */
const ROW_FLAGS = { traceFlags: 0xff, event: 0x100, correlation: 0x200, trace: 0x400 } as const;

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

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
export const TRACE_WORDS = 6;

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
export const packTraceparent = (text: string, words: Words, at: number): number => {
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
export const unpackTexts = (words: Words, at: number, flags: number): string => {
  for (let uuid = 0; uuid < UUIDS; uuid += 1) unpackUuid(words, at + uuid * UUID_WORDS, uuid * UUID_LENGTH);
  unpackTraceparent(words, at + UUIDS * UUID_WORDS, flags, UUIDS * UUID_LENGTH);
  return ascii.decode(codes);
};

/** Where they are in that text. */
export const textOf = {
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

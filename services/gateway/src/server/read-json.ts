import type { JsonValue } from '@runledger/contracts/json';
import { isExactNumber } from '@runledger/contracts/numbers/exact-number';
import { readJsonText } from '@runledger/contracts/numbers/read-json-text';
import { invalid, type Invalid } from '../http/refusal.ts';
import { duplicateMember } from './duplicate-members.ts';

export type ReadJson =
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'invalid'; readonly problem: Invalid }
  /** An object has a member twice, which is at this path. */
  | { readonly kind: 'duplicate'; readonly path: readonly (string | number)[] };

/** What becomes of an object that has a member twice. */
export type DuplicateMembers = 'last-wins' | 'refused';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * JSON as RFC 8259 defines it, in UTF-8, with its numbers as they were sent. Refuses what JavaScript accepts: invalid UTF-8,
 * numbers beyond the range of a double, halves of surrogate pairs.
 */
export const readJson = (bytes: Uint8Array, duplicates: DuplicateMembers = 'last-wins'): ReadJson => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse('the body is not valid UTF-8');
  }
  const read = readJsonText(text);
  if (read.kind === 'invalid') return refuse(read.why, read.position);
  const { value } = read;
  if (!isWellFormed(value)) return refuse('a text holds half of a surrogate pair');
  const path = duplicates === 'refused' ? duplicateMember(text) : undefined;
  return path ? { kind: 'duplicate', path } : { kind: 'json', value };
};

const refuse = (why: string, position?: number): ReadJson => ({
  kind: 'invalid',
  problem: invalid(
    position === undefined ? ['body'] : ['body', position],
    'json_invalid',
    `JSON decode error: ${why}`,
  ),
});

/** Without recursion: a body may nest as deeply as its length allows. */
const isWellFormed = (value: JsonValue): boolean => {
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string' && !next.isWellFormed()) return false;
    if (typeof next !== 'object' || next === null || isExactNumber(next)) continue;
    if (Array.isArray(next)) {
      for (const item of next) open.push(item);
      continue;
    }
    for (const [name, member] of Object.entries(next)) {
      if (!name.isWellFormed()) return false;
      open.push(member);
    }
  }
  return true;
};

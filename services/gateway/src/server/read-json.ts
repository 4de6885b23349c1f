import type { JsonValue } from '@runledger/contracts/json';
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
 * JSON as RFC 8259 defines it, in UTF-8. Refuses what JavaScript accepts: invalid UTF-8, numbers beyond the range of a
 * double, integers that a double would change, halves of surrogate pairs.
 */
export const readJson = (bytes: Uint8Array, duplicates: DuplicateMembers = 'last-wins'): ReadJson => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse('the body is not valid UTF-8');
  }
  let value: JsonValue;
  try {
    // JSON.parse returns nothing else.
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
    return refuse('the body is not valid JSON', position);
  }
  const wrong = unrepresentable(value);
  if (wrong !== undefined) return refuse(wrong);
  const changed = changedInteger(text);
  if (changed) return refuse(changed.why, changed.position);
  const path = duplicates === 'refused' ? duplicateMember(text) : undefined;
  return path ? { kind: 'duplicate', path } : { kind: 'json', value };
};

const refuse = (why: string, position?: string | number): ReadJson => ({
  kind: 'invalid',
  problem: invalid(
    position === undefined ? ['body'] : ['body', Number(position)],
    'json_invalid',
    `JSON decode error: ${why}`,
  ),
});

/** Without recursion: a body may nest as deeply as its length allows. */
const unrepresentable = (value: JsonValue): string | undefined => {
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'number' && !Number.isFinite(next)) return 'a number is too large';
    if (typeof next === 'string' && !next.isWellFormed()) return HALF_PAIR;
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      for (const item of next) open.push(item);
      continue;
    }
    for (const [name, member] of Object.entries(next)) {
      if (!name.isWellFormed()) return HALF_PAIR;
      open.push(member);
    }
  }
  return undefined;
};

const HALF_PAIR = 'a text holds half of a surrogate pair';

/** A JSON string, which is skipped, or a complete number. */
const TEXT_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;
const LONG_INTEGER = /^-?\d{16,}$/;

/**
 * The first integer that a double would round to another one, such as a seed of 64 bits: it would be changed silently.
 * An integer keeps its value when it is exact, or when it is written again with the same digits.
 */
const changedInteger = (json: string): { readonly why: string; readonly position: number } | undefined => {
  if (!/\d{16}/.test(json)) return undefined;
  for (const { 0: token, index } of json.matchAll(TEXT_OR_NUMBER)) {
    if (!LONG_INTEGER.test(token) || String(Number(token)) === token) continue;
    if (BigInt(token) === BigInt(Number(token))) continue;
    const why = `the integer ${token.slice(0, 64)} needs more than the 53 bits that numbers have here, send it as a string`;
    return { why, position: index };
  }
  return undefined;
};

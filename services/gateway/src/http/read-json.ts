import type { JsonValue } from '@runledger/contracts/json';
import { invalid, type Invalid } from './problem.ts';

export type ReadJson =
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'invalid'; readonly problem: Invalid };

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * JSON as RFC 8259 has it, in UTF-8. What JavaScript would let pass is refused: bytes that are no UTF-8, numbers
 * beyond a double's range, halves of surrogate pairs.
 */
export const readJson = (bytes: Uint8Array): ReadJson => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse('the body is not valid UTF-8');
  }
  let value: JsonValue;
  try {
    // JSON.parse gives nothing else.
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
    return refuse('the body is not valid JSON', position);
  }
  const wrong = unrepresentable(value);
  return wrong === undefined ? { kind: 'json', value } : refuse(wrong);
};

const refuse = (why: string, position?: string): ReadJson => ({
  kind: 'invalid',
  problem: invalid(
    position === undefined ? ['body'] : ['body', Number(position)],
    'json_invalid',
    `JSON decode error: ${why}`,
  ),
});

/** Without recursion: a body may nest as deep as it is long. */
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

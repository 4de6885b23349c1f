import { isNestedAtMost } from '@runledger/contracts/json';
import { invalid, type Invalid } from '../http/refusal.ts';

const MAX_LEVELS = 32;

/**
 * What is wrong with JSON that nests too deeply: writing it as JSON again would recurse too deeply.
 */
export const nestingProblems = (value: unknown, loc: Invalid['loc']): Invalid[] => {
  if (isNestedAtMost(MAX_LEVELS, value)) return [];
  const msg = `Invalid JSON: recursion limit exceeded, ${MAX_LEVELS} levels of arrays and objects are the most`;
  return [invalid(loc, 'json_invalid', msg)];
};

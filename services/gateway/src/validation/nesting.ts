import { isNestedAtMost } from '@runledger/contracts/json';
import { invalid, type Invalid } from '../http/refusal.ts';

const MOST_LEVELS = 32;

/**
 * What is wrong with JSON that nests too deep. Deeper values cannot be written as JSON, because the recursion becomes too
 * deep.
 */
export const nestingProblems = (value: unknown, loc: Invalid['loc']): Invalid[] => {
  if (isNestedAtMost(MOST_LEVELS, value)) return [];
  const msg = `Invalid JSON: recursion limit exceeded, ${MOST_LEVELS} levels of arrays and objects are the most`;
  return [invalid(loc, 'json_invalid', msg)];
};

import { isDeepStrictEqual } from 'node:util';
import type { Decided } from './verdict.ts';

/** The names of the members in which two decisions differ; `type` when they are decisions of different kinds. */
export const differencesOf = (one: Decided, other: Decided): string[] => {
  if (one.type !== other.type) return ['type'];
  const names = new Set([...Object.keys(one.members), ...Object.keys(other.members)]);
  return [...names].filter((name) => !isDeepStrictEqual(one.members[name], other.members[name]));
};

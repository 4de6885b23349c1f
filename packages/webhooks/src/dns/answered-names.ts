import type { Resolution } from './dns-answer.ts';

/** Names may change their addresses at any time; so long an answer counts, whatever its own time to live. */
const KEPT_MS = 5_000;
const MAX_NAMES = 10_000;

export interface AnsweredNames {
  get(name: string): Resolution | undefined;
  /** Gives back what it was given. */
  keep(name: string, resolved: Resolution): Resolution;
}

/** The latest answers, so that a burst of callbacks to one name is one question. The least used ones go first. */
export const answeredNames = (clock: () => number): AnsweredNames => {
  const names = new Map<string, { readonly resolved: Resolution; readonly until: number }>();
  return {
    get: (name) => {
      const kept = names.get(name);
      if (kept === undefined) return undefined;
      names.delete(name);
      if (clock() >= kept.until) return undefined;
      names.set(name, kept);
      return kept.resolved;
    },
    keep: (name, resolved) => {
      // A failure of our own says nothing about the name.
      if (resolved.kind === 'no_server') return resolved;
      names.delete(name);
      names.set(name, { resolved, until: clock() + KEPT_MS });
      const [oldest] = names.keys();
      if (names.size > MAX_NAMES && oldest !== undefined) names.delete(oldest);
      return resolved;
    },
  };
};

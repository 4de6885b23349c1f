/** What a line says besides: how many like it were left out since the last one. Nothing when there were none. */
export interface LeftOut {
  readonly more_like_this?: number;
}

/** One line of a kind may be logged now; undefined: leave it out. */
export type LimitedLines = (kind: string) => LeftOut | undefined;

const EVERY_MS = 60_000;
const MOST_KINDS = 1_000;

interface Logged {
  readonly at: number;
  leftOut: number;
}

/**
 * Lets one line of a kind through in a minute, so that whoever can cause lines cannot fill the log with them. `clock` in milliseconds.
 * With more than 1,000 kinds the one that was logged first is forgotten.
 */
export const limitedLines = (clock: () => number = () => performance.now()): LimitedLines => {
  const kinds = new Map<string, Logged>();
  return (kind) => {
    const now = clock();
    const last = kinds.get(kind);
    if (last !== undefined && now - last.at < EVERY_MS) {
      last.leftOut += 1;
      return undefined;
    }
    kinds.delete(kind);
    const [oldest] = kinds.keys();
    if (kinds.size >= MOST_KINDS && oldest !== undefined) kinds.delete(oldest);
    kinds.set(kind, { at: now, leftOut: 0 });
    return last !== undefined && last.leftOut > 0 ? { more_like_this: last.leftOut } : {};
  };
};

/** How many of a kind were left out before this one, since the last minute with room for it. Nothing when there were none. */
export interface LeftOut {
  readonly more_like_this?: number;
}

/** Whether there is room for one of a kind now; undefined: leave it out. */
export type PerMinute = (kind: string) => LeftOut | undefined;

const MINUTE_MS = 60_000;
const MOST_KINDS = 1_000;

interface Minute {
  readonly began: number;
  let_through: number;
  leftOut: number;
}

/**
 * Lets so many of a kind through in a minute, such as lines of a log, so that whoever causes them fills nothing. The first one of the next
 * minute says how many were left out. `clock` in milliseconds. With more than 1,000 kinds the one that is known longest is forgotten.
 */
export const perMinute = (most: number, clock: () => number = () => performance.now()): PerMinute => {
  const kinds = new Map<string, Minute>();
  return (kind) => {
    const now = clock();
    const minute = kinds.get(kind);
    if (minute !== undefined && now - minute.began < MINUTE_MS) {
      if (minute.let_through < most) {
        minute.let_through += 1;
        return {};
      }
      minute.leftOut += 1;
      return undefined;
    }
    kinds.delete(kind);
    const [oldest] = kinds.keys();
    if (kinds.size >= MOST_KINDS && oldest !== undefined) kinds.delete(oldest);
    kinds.set(kind, { began: now, let_through: 1, leftOut: 0 });
    return minute !== undefined && minute.leftOut > 0 ? { more_like_this: minute.leftOut } : {};
  };
};

/** How full something with a limit is. */
export interface Fill {
  /** Rounded down, so that 100 means full. Over 100 when more is used than is allowed now. */
  readonly percent: number;
  readonly level: 'plenty' | 'high' | 'full';
}

const HIGH_PERCENT = 80;
const FULL_PERCENT = 100;

/** Null without a limit. A limit of 0 is full. */
export const fillOf = (used: number, limit: number | null): Fill | null => {
  if (limit === null) return null;
  const percent = limit === 0 ? FULL_PERCENT : Math.floor((used / limit) * 100);
  return { percent, level: percent >= FULL_PERCENT ? 'full' : percent >= HIGH_PERCENT ? 'high' : 'plenty' };
};

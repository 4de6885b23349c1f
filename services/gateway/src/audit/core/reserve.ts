import { RESERVE_AGE_MS } from '@runledger/contracts/audit/audit-rings';

export interface ReserveUse {
  /** How many records the ring keeps. */
  readonly most: number;
  /** How many of its records are younger than `RESERVE_AGE_MS`. */
  readonly recent: number;
  readonly newest: Date | undefined;
  /** Actions that this gateway carries out, and that are in no record yet. */
  readonly underway: number;
}

export interface Reserve {
  /** The part of the reserve that is used; from 1 on actions wait for each other. */
  readonly used: number;
  /** Milliseconds until the next action may begin; 0 for now. */
  readonly waitMs: number;
}

const ANOTHER_ENDS_IN_MS = 1_000;

/**
 * Half of a ring is there for actions at any speed. Afterwards they come one by one, so slowly that a week of them takes another quarter.
 * The last quarter is left free for what several gateways carry out at the same moment. So no record leaves within a week, and nobody waits
 * for longer than a week divided by a quarter of the ring.
 */
export const reserveOf = ({ most, recent, newest, underway }: ReserveUse, now: Date): Reserve => {
  const atOnce = Math.max(1, Math.floor(most / 2));
  const used = (recent + underway) / atOnce;
  if (used < 1) return { used, waitMs: 0 };
  if (underway > 0) return { used, waitMs: ANOTHER_ENDS_IN_MS };
  if (newest === undefined) return { used, waitMs: 0 };
  const everyMs = RESERVE_AGE_MS / Math.max(1, Math.floor(most / 4));
  return { used, waitMs: Math.max(0, newest.getTime() + everyMs - now.getTime()) };
};

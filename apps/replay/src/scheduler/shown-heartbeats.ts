import type { ForeseenAssignment } from './foresight.ts';
import type { LivingExecutor } from './living-executor.ts';

/** From a cause to its effect, if nothing is slow. */
const SOON_MS = 20;
/** An assignment is stored so long after the heartbeat that made it possible, at most; else that heartbeat came earlier. */
const ASSIGNED_WITHIN_MS = 300;

export interface ShownAt {
  readonly nowMs: number;
  /** From a change of what is loaded to the heartbeat that says it. */
  readonly changeTakesMs: number;
}

/**
 * When the heartbeat came at the latest that made an assignment possible, which the slice holds a little further on; Infinity when nothing
 * shows one. What the heartbeat says is noted: what is loaded, and that an attempt has ended. Milliseconds since 1970.
 */
export const shownBy = (
  executor: LivingExecutor,
  { slot, version, isWarm, atMs }: ForeseenAssignment,
  { nowMs, changeTakesMs }: ShownAt,
): number => {
  const dues = [confirmedAt(executor, atMs, nowMs)];
  const leftover = executor.leftovers.get(slot);
  if (leftover && leftover.untilMs > nowMs) {
    const untilMs = Math.max(nowMs, Math.min(leftover.untilMs, atMs - ASSIGNED_WITHIN_MS));
    executor.leftovers.set(slot, { ...leftover, untilMs });
    dues.push(untilMs);
  }
  const loaded = executor.loaded.get(slot);
  if (isWarm && loaded && loaded.version === version && loaded.fromMs > nowMs) {
    const fromMs = Math.min(loaded.fromMs, nowMs + changeTakesMs);
    executor.loaded.set(slot, { ...loaded, fromMs });
    dues.push(fromMs);
  }
  return Math.min(...dues);
};

/** A new executor sends one at once. After a reset the others wait for theirs, which is the cause of the assignment then. */
const confirmedAt = ({ isConfirmed, isNew, nextMs }: LivingExecutor, atMs: number, nowMs: number): number => {
  if (isConfirmed) return Infinity;
  return isNew ? Math.min(nowMs + SOON_MS, nextMs) : Math.max(nowMs, Math.min(atMs - SOON_MS, nextMs));
};

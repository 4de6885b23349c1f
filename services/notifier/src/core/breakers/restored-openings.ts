import type { BreakerSettings } from './breaker-settings.ts';
import type { OpenState } from './breaker.ts';

/** What is stored of an open breaker, so that another process can go on with it. */
export interface Opening {
  readonly opens: number;
  /** Monotonic, in milliseconds. */
  readonly until: number;
}

/** Those whose time is over are probed one after the other, over the length of a first opening in so many steps. */
const STEPS = 30;

/**
 * Gives an opening the time that it has left, never more than the longest opening. Openings whose time is over end one
 * after the other, so that a takeover does not send all its probes at once.
 */
export const restoredOpenings = (
  settings: BreakerSettings,
): ((opening: Opening, at: number) => OpenState) => {
  const stepMs = Math.max(1, Math.floor(settings.firstOpenMs / STEPS));
  const steps = Math.ceil(settings.firstOpenMs / stepMs);
  let step = 0;
  const soon = (at: number): number => {
    step = (step % steps) + 1;
    return at + step * stepMs;
  };
  return ({ opens, until }, at) => ({
    kind: 'open',
    opens: Number.isSafeInteger(opens) && opens > 0 ? opens : 1,
    until: until > at ? Math.min(until, at + settings.longestOpenMs) : soon(at),
  });
};

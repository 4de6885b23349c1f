import type { OpenState } from './breaker.ts';
import { wakeEveryMs } from './breaker-settings.ts';
import type { BreakerSettings } from './breaker-settings.ts';

/** What is kept of an open breaker, so that another process can go on with it. */
export interface Opening {
  readonly opens: number;
  readonly until: number;
}

/**
 * Gives an opening the time that it has left, never more than the longest there is. Those whose time is over end one
 * after the other over the length of a first opening, so that a takeover does not send all its probes at once.
 */
export const restoredOpenings = (
  settings: BreakerSettings,
  now: () => number,
): ((opening: Opening) => OpenState) => {
  const everyMs = wakeEveryMs(settings);
  const turns = Math.ceil(settings.firstOpenMs / everyMs);
  let overdue = 0;

  const soon = (): number => {
    overdue = (overdue % turns) + 1;
    return now() + overdue * everyMs;
  };

  return ({ opens, until }) => ({
    kind: 'open',
    opens: Number.isSafeInteger(opens) && opens > 0 ? opens : 1,
    until: until > now() ? Math.min(until, now() + settings.longestOpenMs) : soon(),
  });
};

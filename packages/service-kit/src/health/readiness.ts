import { within } from '@runledger/resilience/within';
import type { Logger } from '../observability/logger.ts';

export type CheckOutcome =
  | { readonly ok: true; readonly note?: string }
  | { readonly ok: false; readonly why: string };
export type Check = () => CheckOutcome | Promise<CheckOutcome>;
/** By name. Each request reads the record, so a check may be added when its resource is open. */
export type Checks = Readonly<Record<string, Check>>;

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, CheckOutcome>>;
}

const CHECK_WITHIN_MS = 1_000;

/** Runs all checks, each within one second, and logs only changes since the last time. */
export const readinessOf = (checks: Checks, logger: Logger): (() => Promise<Readiness>) => {
  // A check that hangs is not started again, so that probes do not pile up calls.
  const running = new Map<string, Promise<CheckOutcome>>();
  const known = new Map<string, string>();

  const ask = (name: string, check: Check): Promise<CheckOutcome> => {
    const pending = running.get(name) ?? outcomeOf(check).finally(() => running.delete(name));
    running.set(name, pending);
    return within(CHECK_WITHIN_MS, pending, () => ({
      ok: false,
      why: `no answer within ${CHECK_WITHIN_MS} ms`,
    }));
  };

  const logChange = (name: string, outcome: CheckOutcome): void => {
    const state = outcome.ok ? 'ok' : outcome.why;
    const before = known.get(name);
    known.set(name, state);
    if (state === before) return;
    if (!outcome.ok) logger.warn({ check: name, why: outcome.why }, 'not ready');
    else if (before !== undefined) logger.info({ check: name }, 'ready again');
  };

  return async () => {
    const outcomes = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await ask(name, check)] as const),
    );
    for (const [name, outcome] of outcomes) logChange(name, outcome);
    return { ready: outcomes.every(([, outcome]) => outcome.ok), checks: Object.fromEntries(outcomes) };
  };
};

const outcomeOf = async (check: Check): Promise<CheckOutcome> => {
  try {
    return await check();
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
};

import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { expect } from 'vitest';
import { isInTimers, type AttemptReport } from '../../src/core/delivery.ts';
import type { Effect } from '../../src/core/inputs-and-effects.ts';
import { SECOND, type SimulatedCore } from './simulated-core.ts';
import { isSuperseded, runOf, type SimulatedLog, type SimulatedRun } from './simulated-log.ts';

const GIVE_UP_AFTER_MS = 518_400_000;

/** How an attempt goes, and how long it takes. */
export interface Behaviour {
  readonly afterMs: number;
  readonly reason: DeliveryAttemptResult;
}

export interface Circumstances {
  readonly maxInFlight: number;
  readonly behave: () => Behaviour;
  /** How long a delivery really waits in TIMERS, of what was decided. */
  readonly waitOf: (ms: number) => number;
}

type EffectOf<Type> = Extract<Effect, { type: Type }>;

const begin = (run: SimulatedRun, core: SimulatedCore, maxInFlight: number): void => {
  run.inFlight += 1;
  expect(run.inFlight).toBe(1);
  expect(core.state.limits.inFlight).toBeLessThanOrEqual(maxInFlight);
};

export const attemptFinal = (
  log: SimulatedLog,
  core: SimulatedCore,
  { behave, maxInFlight }: Circumstances,
  { attempt, delivery }: EffectOf<'attempt_final'>,
): void => {
  const run = runOf(log, delivery.key.run_id);
  const { afterMs, reason } = behave();
  begin(run, core, maxInFlight);
  const finish = (report: AttemptReport): void => {
    run.inFlight -= 1;
    core.take({ type: 'attempt_finished', attempt, report });
  };
  core.after(1, () => {
    if (delivery.mayBeSuperseded && isSuperseded(log, run, delivery)) return finish({ kind: 'superseded' });
    const { round } = run;
    if (round === 0 || run.settled) return finish({ kind: 'nothing' });
    if (delivery.round < round && isInTimers(delivery)) return finish({ kind: 'nothing' });
    const attempts = round === delivery.round ? delivery.attempts : 0;
    const expiresAt = Math.min(delivery.expiresAt, run.endedAt + GIVE_UP_AFTER_MS);
    const progress = { round, attempts, expiresAt };
    expect(run.sentRounds.every((earlier) => earlier <= round)).toBe(true);
    run.sentRounds.push(round);
    const result = { reason, message: '', status: null, retry_after: null };
    core.after(afterMs, () => finish({ kind: 'sent', result, ...progress, endedAt: run.endedAt }));
  });
};

export const attemptIntermediate = (
  log: SimulatedLog,
  core: SimulatedCore,
  { behave, maxInFlight }: Circumstances,
  { attempt, key }: EffectOf<'attempt_intermediate'>,
): void => {
  const run = runOf(log, key.run_id);
  const { afterMs, reason } = behave();
  begin(run, core, maxInFlight);
  expect(core.elapsed() - run.lastIntermediate).toBeGreaterThanOrEqual(SECOND);
  run.lastIntermediate = core.elapsed();
  const finish = (report: AttemptReport): void => {
    run.inFlight -= 1;
    core.take({ type: 'attempt_finished', attempt, report });
  };
  // The run is read before each attempt: behind its end nothing is sent.
  if (run.round > 0) return finish({ kind: 'nothing' });
  const result = { reason, message: '', status: null, retry_after: null };
  const progress = { round: 1, attempts: 0, expiresAt: Infinity, endedAt: core.now() };
  core.after(afterMs, () => finish({ kind: 'sent', result, ...progress }));
};

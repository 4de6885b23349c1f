import { sleep } from '@runledger/resilience/abort';
import { countExpiring, waitsInLog } from './core/reconciling.ts';
import type { NotifierInput } from './core/inputs-and-effects.ts';
import { hasFinal, type NotifierState } from './core/state.ts';
import type { NotifierMetrics } from './notifier-metrics.ts';
import { reconcile, type ReconciliationOptions } from './reconciliation.ts';
import { deliveryIn } from './timers.ts';
import { readExpired } from './follow-timers.ts';

interface RepeatedReconciliation extends Pick<
  ReconciliationOptions,
  'log' | 'targets' | 'firstChecks' | 'signal'
> {
  readonly now: () => Date;
  readonly everyMs: number;
  readonly giveUpAfterMs: number;
  readonly state: NotifierState;
  readonly handle: (input: NotifierInput) => void;
  readonly metrics: NotifierMetrics;
}

/** How often deferred deliveries are searched for expired ones. */
const FIND_EXPIRED_EVERY_MS = 600_000;
const LOOK_EVERY_MS = 1_000;
/** A round that finds nothing to send takes at most this part of the time. */
const MAX_PART = 0.1;
/** A round may also take long because the broker did not respond: then the next one does not wait much longer than usual. */
const MAX_INTERVALS = 10;

/** Runs one round of the reconciliation after the other, until the signal. */
export const reconcileOften = async (options: RepeatedReconciliation): Promise<void> => {
  const { log, state, metrics, signal, giveUpAfterMs } = options;
  const expireEveryMs = Math.min(FIND_EXPIRED_EVERY_MS, giveUpAfterMs / 10);
  const round: ReconciliationOptions = {
    ...options,
    partitions: () => state.partitions.values(),
    hasFinal: (run) => hasFinal(state, run),
    waitsInLog: (message) => waitsInLog(state, message),
    countExpiring: () => countExpiring(state),
    onForgotten: (run_id) => {
      metrics.forgotten();
      log.logger.error({ run_id }, 'the reconciliation found a lost notification; it is sent from the log');
    },
  };
  let expired = performance.now();
  let tookMs = 0;
  for (;;) {
    await untilNext(options, tookMs);
    if (signal.aborted) return;
    const began = performance.now();
    try {
      if (began - expired >= expireEveryMs) {
        expired = began;
        for (const partition of state.partitions.keys()) await giveUpExpired(options, partition);
      }
      await reconcile(round);
    } catch (error) {
      log.logger.warn({ err: error }, 'the reconciliation was interrupted; it continues later');
    }
    tookMs = performance.now() - began;
  }
};

/** The next round comes soon while there is something to send from the log. */
const untilNext = async (
  { state, signal, everyMs }: RepeatedReconciliation,
  tookMs: number,
): Promise<void> => {
  const began = performance.now();
  const latest = Math.min(Math.max(everyMs, tookMs / MAX_PART - tookMs), everyMs * MAX_INTERVALS);
  const soonest = Math.min(latest, Math.max(LOOK_EVERY_MS, tookMs));
  for (let passed = 0; !signal.aborted && passed < latest; passed = performance.now() - began) {
    if (state.roundWanted && passed >= soonest) return;
    await sleep(Math.min(LOOK_EVERY_MS, latest - passed), signal);
  }
};

/** Given up in one search; the others in the next one. */
const MAX_EXPIRED = 1_000;
const MAX_AT_ONCE = 32;
const CHECK_AGAIN_MS = 20;

/** Has deliveries given up that expired while they were deferred, or had no room in memory. @throws what ends the reading */
const giveUpExpired = async (
  { log, now, handle, state, signal }: RepeatedReconciliation,
  partition: number,
): Promise<void> => {
  for (const pending of await readExpired(log, partition, now(), MAX_EXPIRED)) {
    while (countExpiring(state) >= MAX_AT_ONCE && !signal.aborted) await sleep(CHECK_AGAIN_MS, signal);
    if (signal.aborted) return;
    handle({ type: 'expired_found', delivery: deliveryIn(pending, pending.state, true) });
  }
};

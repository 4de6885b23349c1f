import type { ExecutorFact, Heartbeat } from '@runledger/contracts/events/fleet-event';
import { sleep } from '@runledger/resilience/abort';
import { retry } from '@runledger/resilience/retry';
import { within } from '@runledger/resilience/within';

/** This executor as the scheduler sees it. */
export interface FleetPresence {
  /** Null while it is registered and beats, else why not. */
  absence(): string | null;
  /** No new runs are taken. */
  drain(): Promise<void>;
  /** What is still in hand is given back to the scheduler. Nothing beats after it. */
  leave(): Promise<void>;
}

export interface PresenceSettings {
  /** The facts of this executor; each call makes a new one. */
  readonly fact: (type: 'ExecutorRegistered' | 'ExecutorDraining' | 'ExecutorLeft') => ExecutorFact;
  /** Rejects while the broker is away. */
  readonly tell: (event: ExecutorFact) => Promise<unknown>;
  /** Rejects while the broker is away. */
  readonly beat: (beat: Pick<Heartbeat, 'beat' | 'draining'>) => Promise<unknown>;
  /** Of the heartbeat: after so long without a beat the scheduler may give the executor up. */
  readonly periodMs: number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

const RETRY_AFTER_MS = 500;
/** A stop does not wait longer for a broker that is away: the scheduler will miss the beats. */
const LEAVE_WITHIN_MS = 1_000;

/** Registers, however long the broker is away, and beats from then on. `stopping` gives the registration up. */
export const joinFleet = async (
  settings: PresenceSettings,
  stopping: AbortSignal,
): Promise<FleetPresence> => {
  const { fact, tell, beat, periodMs, log } = settings;
  const left = new AbortController();
  let draining = false;
  let beats = 0;
  let lastBeat = performance.now();
  let failure: string | null = null;

  const register = async (signal: AbortSignal): Promise<void> => {
    const event = fact('ExecutorRegistered');
    const onRetry = (err: unknown): void => log.warn({ err }, 'the log is away; registering again');
    const delays = { firstMs: RETRY_AFTER_MS, longestMs: RETRY_AFTER_MS };
    await retry({ isUnavailable: () => true, ...delays, signal, onRetry }, () => tell(event));
    log.info({ executor_id: event.executor_id }, 'registered');
  };

  const beatOnce = async (): Promise<void> => {
    // After so long a silence (a broker away, a process frozen) the scheduler may have given this executor up.
    if (performance.now() - lastBeat > periodMs && !draining) {
      await register(left.signal);
      lastBeat = performance.now();
    }
    await beat({ beat: beats, draining });
    beats += 1;
    // The beat itself may have waited for the broker for as long.
    const silent = performance.now() - lastBeat > periodMs;
    lastBeat = performance.now();
    if (silent && !draining) await register(left.signal);
    failure = null;
  };

  const beatForEver = async (): Promise<void> => {
    while (!left.signal.aborted) {
      await beatOnce().catch((err: unknown) => {
        failure = err instanceof Error ? err.message : String(err);
        if (!left.signal.aborted) log.warn({ err }, 'a heartbeat was not stored');
      });
      await sleep(periodMs / 3, left.signal);
    }
  };

  const say = async (type: 'ExecutorDraining' | 'ExecutorLeft'): Promise<void> => {
    const told = tell(fact(type)).then(
      () => log.info({}, type === 'ExecutorLeft' ? 'left the fleet' : 'draining'),
      (err: unknown) => log.warn({ err }, `${type} could not be told; the scheduler will miss the beats`),
    );
    await within(LEAVE_WITHIN_MS, told, () => undefined);
  };

  await register(stopping);
  const beating = beatForEver();
  return {
    absence: () => failure,
    drain: async () => {
      if (draining) return;
      draining = true;
      await say('ExecutorDraining');
    },
    leave: async () => {
      left.abort();
      await within(LEAVE_WITHIN_MS, beating, () => undefined);
      await say('ExecutorLeft');
    },
  };
};

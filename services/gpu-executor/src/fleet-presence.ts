import type { Logger } from '@runledger/event-log/connect/observability';
import type { ExecutorFact, ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import { sleep } from '@runledger/resilience/abort';
import { retry } from '@runledger/resilience/retry';
import { within } from '@runledger/resilience/within';
import { randomBytes } from 'node:crypto';
import { executorId, executorToken, type ExecutorId } from '@runledger/contracts/ids';
import { messageOf } from '@runledger/resilience/errors';
import type { Executor } from './attempt/executor.ts';

/** This executor as the scheduler sees it. */
export interface FleetPresence {
  /** Null while it is registered and sends heartbeats, else the reason. */
  readonly absence: () => string | null;
  /** Announces that it takes no new runs. */
  readonly drain: () => Promise<void>;
  /** Returns the runs under way to the scheduler. It sends no heartbeat afterwards. */
  readonly leave: () => Promise<void>;
}

export interface PresenceSettings {
  /** Makes a new fact of this executor with each call. */
  readonly fact: (type: 'ExecutorRegistered' | 'ExecutorDraining' | 'ExecutorLeft') => ExecutorFact;
  /** Rejects while the broker is unavailable. */
  readonly append: (event: ExecutorFact) => Promise<unknown>;
  /** Rejects while the broker is unavailable. */
  readonly sendHeartbeat: (heartbeat: {
    readonly count: number;
    readonly draining: boolean;
  }) => Promise<unknown>;
  /** The listener is called when heartbeats say something else from now on. */
  readonly onChange: (listener: () => void) => void;
  /** After this time without a heartbeat the scheduler may declare this executor lost. */
  readonly periodMs: number;
  readonly log: Logger;
}

const RETRY_AFTER_MS = 500;
/** A heartbeat after a change comes this part of the period after it, with all other changes until then. */
const AFTER_CHANGE = 1 / 24;
/** How long a stop waits for an unavailable broker: the scheduler will miss the heartbeats. */
const LEAVE_WITHIN_MS = 1_000;

interface Presence {
  readonly settings: PresenceSettings;
  readonly left: AbortController;
  draining: boolean;
  count: number;
  lastHeartbeatMs: number;
  failure: string | null;
  /** Aborted by the first change since the last heartbeat. */
  changed: AbortController;
}

/** Registers as soon as the broker is available, and sends heartbeats from then on. `stopping` ends the registration. */
export const joinFleet = async (
  settings: PresenceSettings,
  stopping: AbortSignal,
): Promise<FleetPresence> => {
  const presence: Presence = {
    settings,
    left: new AbortController(),
    draining: false,
    count: 0,
    lastHeartbeatMs: performance.now(),
    failure: null,
    changed: new AbortController(),
  };
  settings.onChange(() => presence.changed.abort());
  await register(settings, stopping);
  const heartbeats = sendHeartbeats(presence);
  return {
    absence: () => presence.failure,
    drain: async () => {
      if (presence.draining) return;
      presence.draining = true;
      await announce(settings, 'ExecutorDraining');
    },
    leave: async () => {
      presence.left.abort();
      await within(LEAVE_WITHIN_MS, heartbeats, () => undefined);
      await announce(settings, 'ExecutorLeft');
    },
  };
};

const register = async ({ fact, append, log }: PresenceSettings, signal: AbortSignal): Promise<void> => {
  const event = fact('ExecutorRegistered');
  const onRetry = (err: unknown): void => log.warn({ err }, 'the log is unavailable; registering again');
  const delays = { firstMs: RETRY_AFTER_MS, longestMs: RETRY_AFTER_MS };
  await retry({ isUnavailable: () => true, ...delays, signal, onRetry }, () => append(event));
  log.info({ executor_id: event.executor_id }, 'registered');
};

const sendHeartbeats = async (presence: Presence): Promise<void> => {
  const { settings, left } = presence;
  while (!left.signal.aborted) {
    const stored = await sendOne(presence).then(
      () => true,
      (err: unknown) => {
        presence.failure = messageOf(err);
        if (!left.signal.aborted) settings.log.warn({ err }, 'a heartbeat was not stored');
        return false;
      },
    );
    // A rest after a failure would use up what is left of the period.
    const restMs = settings.periodMs / 3;
    if (!stored) await sleep(Math.min(restMs, RETRY_AFTER_MS), left.signal);
    else {
      await sleep(restMs, AbortSignal.any([left.signal, presence.changed.signal]));
      if (presence.changed.signal.aborted) await sleep(settings.periodMs * AFTER_CHANGE, left.signal);
    }
  }
};

const sendOne = async (presence: Presence): Promise<void> => {
  const { settings, left } = presence;
  const isLate = (): boolean => performance.now() - presence.lastHeartbeatMs > settings.periodMs;
  // Without a heartbeat for a period (an unavailable broker, a frozen process) the scheduler may have declared the loss.
  if (isLate() && !presence.draining) {
    await register(settings, left.signal);
    presence.lastHeartbeatMs = performance.now();
  }
  // What changes from now on is said by the next one.
  if (presence.changed.signal.aborted) presence.changed = new AbortController();
  await settings.sendHeartbeat({ count: presence.count, draining: presence.draining });
  presence.count += 1;
  // The heartbeat itself may have waited for the broker for a period.
  const late = isLate();
  presence.lastHeartbeatMs = performance.now();
  if (late && !presence.draining) await register(settings, left.signal);
  presence.failure = null;
};

const announce = async (
  { fact, append, log }: PresenceSettings,
  type: 'ExecutorDraining' | 'ExecutorLeft',
): Promise<void> => {
  const stored = append(fact(type)).then(
    () => log.info({}, type === 'ExecutorLeft' ? 'left the fleet' : 'draining'),
    (err: unknown) =>
      log.warn({ err }, `${type} could not be stored; the scheduler will miss the heartbeats`),
  );
  await within(LEAVE_WITHIN_MS, stored, () => undefined);
};

export type Registration = Omit<ExecutorRegistered, 'type' | 'version' | 'event_id' | 'time'>;

/** Makes the facts of an executor about itself. */
export const fleetEvents =
  (registration: Registration, newId: () => string, now: () => Date) =>
  (type: 'ExecutorRegistered' | 'ExecutorDraining' | 'ExecutorLeft'): ExecutorFact => {
    const { executor_id } = registration;
    const envelope = { version: 1 as const, event_id: newId(), time: now().toISOString() };
    switch (type) {
      case 'ExecutorRegistered':
        return { type, ...envelope, ...registration };
      case 'ExecutorDraining':
        return { type, ...envelope, executor_id };
      case 'ExecutorLeft':
        return { type, ...envelope, executor_id };
    }
  };

/** `<name>.<boot id>`: new with every start, because a new process cannot continue the runs of the previous one. */
export const newExecutorId = (name: string, random: (size: number) => Uint8Array = randomBytes): ExecutorId =>
  executorId(`${executorToken(name)}.${Buffer.from(random(6)).toString('hex')}`);

/**
 * The clean stop of an executor: it takes no new runs, gives the current runs time to finish, stops the rest, and leaves.
 * The scheduler requeues when the executor has left, so the programs should have ended before.
 */
export const retire = async ({
  executor,
  presence,
  abandon,
  stopWithinMs,
  cancelGraceMs,
}: {
  readonly executor: Executor;
  readonly presence: FleetPresence;
  /** Stops the workflows; nothing more is stored about them. */
  readonly abandon: AbortController;
  readonly stopWithinMs: number;
  readonly cancelGraceMs: number;
}): Promise<void> => {
  // Time to stop the runs that do not finish: the whole grace period, if that leaves a good part of the stop.
  const reserveMs = Math.min(cancelGraceMs + 3_000, stopWithinMs * 0.6);
  const drained = presence.drain();
  await within(stopWithinMs - reserveMs, executor.idle(), () => undefined);
  abandon.abort();
  // A program that ignores SIGTERM is killed when this process ends.
  await within(reserveMs / 2, executor.idle(), () => undefined);
  await drained;
  await presence.leave();
};

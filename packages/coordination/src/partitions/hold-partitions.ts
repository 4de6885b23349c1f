import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { acquireLease, type Lease } from '../lease.ts';
import { membershipLease, newMemberName, openPartitionRegistry } from './partition-registry.ts';
import { membershipTerm, type MembershipTerm } from './membership-term.ts';

export interface PartitionOptions {
  /** Of the service: those with the same name divide the shares among them. */
  readonly name: string;
  readonly partitions: number;
  /** Unique to the process. */
  readonly holder: string;
  /** A process that was not heard of for so long loses its shares; 3000 when left out. */
  readonly ttlMs?: number;
}

export interface HeldPartitions extends AsyncDisposable {
  /** The shares that are held now, in order. */
  held(): readonly number[];
  /** Resolves when the sharing has ended by itself: the connection was closed. */
  readonly failed: Promise<Error>;
}

const LOOK_EVERY_MS = 500;
const AGAIN_AFTER_MS = 1_000;
const LEAVE_WITHIN_MS = 1_000;
const STOP_WITHIN_MS = 2_000;

/**
 * Divides a fixed number of shares evenly among the living processes of a service; a share has one holder at a time.
 * Each process renews one lease, its membership; the claim of a share names the member and is written only when it
 * changes. As with a lease, no clock is compared with another, and what a holder does must be safe to be done twice:
 * a process that was frozen learns only afterwards that it lost everything.
 *
 * `hold` is called when a share is ours. It must wind down and resolve soon after its signal is aborted: the share is
 * given away, the membership is lost, or the sharing is disposed. What it throws is logged, and it is called again.
 */
export const holdPartitions = (
  log: EventLog,
  { name, partitions: shares, holder, ttlMs = 3_000 }: PartitionOptions,
  hold: (share: number, over: AbortSignal) => Promise<void>,
): HeldPartitions => {
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  let term: MembershipTerm | undefined;

  /** As one member, until the membership is lost or the sharing is disposed. */
  const serve = async (lease: Lease, member: string, previous: string | undefined): Promise<void> => {
    const broken = new AbortController();
    const over = AbortSignal.any([lease.lost, stop.signal, broken.signal]);
    const alarm = alarmClock(Math.min(ttlMs / 6, LOOK_EVERY_MS), over);
    await using board = await openPartitionRegistry(log, name, alarm.ring);
    void board.failed.then((error) => broken.abort(error));
    term = membershipTerm(
      { log, registry: board, partitions: shares, member, ttlMs, hold, lost: lease.lost, over },
      alarm.ring,
    );
    while (!over.aborted) {
      try {
        // Nobody needs to wait until it was silent for long enough.
        if (previous !== undefined && board.isComplete()) await board.end(previous);
        await term.step();
      } catch (error) {
        const fields = { err: error, service: name, member };
        if (error instanceof LogUnavailable) log.logger.debug(fields, 'the shares could not be divided yet');
        else log.logger.warn(fields, 'the shares could not be divided; it is tried again');
      }
      await alarm.next();
    }
    await term.ended();
    broken.signal.throwIfAborted();
  };
  const run = async (): Promise<void> => {
    let previous: string | undefined;
    while (!stop.signal.aborted) {
      const member = newMemberName(holder);
      try {
        const request = { name: membershipLease(name, member), holder, ttlMs };
        const lease = await acquireLease(log, request, stop.signal);
        try {
          await serve(lease, member, previous);
        } finally {
          previous = member;
          await within(LEAVE_WITHIN_MS, lease.release(), () => undefined);
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        if (log.nc.isClosed()) throw error;
        log.logger.warn({ err: error, service: name }, 'sharing was interrupted; it begins again');
        await sleep(AGAIN_AFTER_MS, stop.signal);
      }
    }
  };
  const running = run().catch((error: unknown) => {
    failed.resolve(error instanceof Error ? error : new Error(String(error)));
  });
  return {
    held: () => term?.held() ?? [],
    failed: failed.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await term?.ended();
      // A broker that is away may be asked for longer than a stop may take; it ends with the connection then.
      await within(STOP_WITHIN_MS, running, () => undefined);
    },
  };
};

interface AlarmClock {
  readonly ring: () => void;
  /** Resolves when it rings, or rang since the last time: at the latest after a while. */
  next(): Promise<void>;
}

const alarmClock = (everyMs: number, over: AbortSignal): AlarmClock => {
  let rung = Promise.withResolvers<void>();
  const ring = (): void => rung.resolve();
  over.addEventListener('abort', ring, { once: true });
  return {
    ring,
    next: async () => {
      const timer = setTimeout(ring, everyMs);
      await rung.promise;
      clearTimeout(timer);
      rung = Promise.withResolvers();
    },
  };
};

import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { acquireLease, type Lease } from './lease.ts';
import { membershipTerm, type MembershipTerm } from './membership-term.ts';
import { membershipLease, newMemberName, openPartitionRegistry } from './partition-registry.ts';

interface PartitionOptions {
  /** The service: processes with the same name divide the partitions among them. */
  readonly name: string;
  readonly partitions: number;
  /** Unique to the process. */
  readonly holder: string;
  /** A process that does not renew its membership within this time loses its partitions. */
  readonly ttlMs: number;
}

export interface HeldPartitions extends AsyncDisposable {
  /** The partitions that are held now, in order. */
  held(): readonly number[];
  /** Resolves when holding has ended by itself: the connection was closed. */
  readonly failed: Promise<Error>;
}

const POLL_MS = 500;
const RETRY_MS = 1_000;
const LEAVE_WITHIN_MS = 1_000;
const STOP_WITHIN_MS = 2_000;

/**
 * Divides a fixed number of partitions evenly among the living processes of a service; a partition has one holder at a time.
 * Each process renews one lease, its membership. The claim of a partition names the member and is written only when it
 * changes. As with a lease, no clock is compared with another, and what a holder does must be safe to do twice: a process
 * that was frozen notices only afterwards that it lost everything.
 *
 * `hold` is called when this process holds a partition. It must stop its work and resolve soon after its signal aborts: the
 * partition is handed over, the membership is lost, or the holder is disposed of. Its errors are logged, and it is called again.
 */
export const holdPartitions = (
  log: EventLog,
  options: PartitionOptions,
  hold: (partition: number, over: AbortSignal) => Promise<void>,
): HeldPartitions => {
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  let term: MembershipTerm | undefined;
  const membership: Membership = { log, options, hold, stop: stop.signal, onTerm: (begun) => (term = begun) };
  const running = joinUntilStopped(membership).catch((error: unknown) => {
    failed.resolve(error instanceof Error ? error : new Error(String(error)));
  });
  return {
    held: () => term?.held() ?? [],
    failed: failed.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await term?.ended();
      // While the broker is unavailable a call may take longer than a stop. It ends with the connection then.
      await within(STOP_WITHIN_MS, running, () => undefined);
    },
  };
};

interface Membership {
  readonly log: EventLog;
  readonly options: PartitionOptions;
  readonly hold: (partition: number, over: AbortSignal) => Promise<void>;
  readonly stop: AbortSignal;
  readonly onTerm: (term: MembershipTerm) => void;
}

/** One membership after the other, each under a new name. @throws when the connection was closed */
const joinUntilStopped = async (membership: Membership): Promise<void> => {
  const { log, stop, options } = membership;
  const { name, holder, ttlMs } = options;
  let previous: string | undefined;
  while (!stop.aborted) {
    const member = newMemberName(holder);
    try {
      const lease = await acquireLease(log, { name: membershipLease(name, member), holder, ttlMs }, stop);
      try {
        await serve(membership, { lease, member, previous, ttlMs });
      } finally {
        previous = member;
        await within(LEAVE_WITHIN_MS, lease.release(), () => undefined);
      }
    } catch (error) {
      if (stop.aborted) return;
      if (log.nc.isClosed()) throw error;
      log.logger.warn({ err: error, service: name }, 'holding partitions was interrupted; trying again');
      await sleep(RETRY_MS, stop);
    }
  }
};

interface Served {
  readonly lease: Lease;
  readonly member: string;
  /** The member that this process was before. */
  readonly previous: string | undefined;
  readonly ttlMs: number;
}

/** Serves as one member, until the membership is lost or the process stops. */
const serve = async (
  { log, options: { name, partitions }, hold, stop, onTerm }: Membership,
  { lease, member, previous, ttlMs }: Served,
): Promise<void> => {
  const broken = new AbortController();
  const over = AbortSignal.any([lease.lost, stop, broken.signal]);
  const wakeUp = wakeUpCall(Math.min(ttlMs / 6, POLL_MS), over);
  await using registry = await openPartitionRegistry(log, name, wakeUp.now);
  void registry.failed.then((error) => broken.abort(error));
  const parts = { log, registry, partitions, member, ttlMs, hold, lost: lease.lost, over };
  const term = membershipTerm(parts, wakeUp.now);
  onTerm(term);
  while (!over.aborted) {
    try {
      // The other processes need not wait until it expires.
      if (previous !== undefined && registry.isComplete()) await registry.end(previous);
      await term.step();
    } catch (error) {
      const fields = { err: error, service: name, member };
      if (error instanceof LogUnavailable)
        log.logger.debug(fields, 'the partitions could not be assigned yet');
      else log.logger.warn(fields, 'the partitions could not be assigned; trying again');
    }
    await wakeUp.next();
  }
  await term.ended();
  broken.signal.throwIfAborted();
};

interface WakeUpCall {
  readonly now: () => void;
  /** Resolves when `now` was called since the last time, when the signal aborts, or after `everyMs`. */
  next(): Promise<void>;
}

/** For a loop that runs after each change, and periodically. */
const wakeUpCall = (everyMs: number, over: AbortSignal): WakeUpCall => {
  let called = Promise.withResolvers<void>();
  const now = (): void => called.resolve();
  over.addEventListener('abort', now, { once: true });
  return {
    now,
    next: async () => {
      const timer = setTimeout(now, everyMs);
      await called.promise;
      clearTimeout(timer);
      called = Promise.withResolvers();
    },
  };
};

import { setTimeout as pause } from 'node:timers/promises';
import { newUuid } from '@runledger/contracts/ids';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { publish } from '@runledger/event-log/append/publish';

export interface LeaseRequest {
  readonly name: string;
  /** Names the process for people; it need not be unique. */
  readonly holder: string;
  /** A holder that does not renew the lease within this time loses it. */
  readonly ttlMs: number;
}

export interface Lease {
  /** Aborted as soon as another process may hold it. A lease saves work and protects nothing: appends are fenced in any case. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** How long a service that was killed holds up the process that replaces it. */
export const LEASE_TTL_MS = 3_000;

const STREAM = 'KV_LEASES';
const MAX_POLL_MS = 500;
const utf8 = new TextEncoder();

/**
 * Waits until this process holds the lease. No clock is compared with another: a waiting process takes a lease over when it
 * observed, without a break in its connection, that the holder did not renew it for `ttlMs`. Of several the broker accepts one.
 * @throws the signal's reason
 */
export const acquireLease = async (
  log: EventLog,
  { name, holder, ttlMs }: LeaseRequest,
  signal: AbortSignal,
): Promise<Lease> => {
  const subject = `$KV.LEASES.${name}`;
  const pollMs = Math.min(ttlMs / 6, MAX_POLL_MS);
  let seen = { revision: -1, since: 0 };
  const forget = (): void => {
    seen = { revision: -1, since: 0 };
  };
  const stopListening = log.onReconnect(forget);
  try {
    for (; ; await pause(pollMs, undefined, { signal })) {
      signal.throwIfAborted();
      try {
        const last = await lastMessage(log, STREAM, subject, pollMs * 2);
        const revision = last?.seq ?? 0;
        const now = performance.now();
        if (revision !== seen.revision) seen = { revision, since: now };
        const free = !last || last.data.byteLength === 0;
        if (!free && now - seen.since < ttlMs) continue;
        const sentAt = performance.now();
        const taken = await write(log, subject, holder, revision, ttlMs);
        if (taken !== false) return hold(log, { subject, holder, ttlMs, revision: taken, sentAt });
      } catch (error) {
        if (log.nc.isClosed()) throw error;
        log.logger.debug({ err: error, lease: name }, 'the lease could not be read');
        forget();
      }
    }
  } finally {
    stopListening();
  }
};

/** Waits for the lease, and does the work with a signal that also ends when the lease is lost. @throws the signal's reason @throws what the work throws */
export const withLease = async (
  log: EventLog,
  request: Omit<LeaseRequest, 'ttlMs'>,
  signal: AbortSignal,
  work: (ended: AbortSignal) => Promise<void>,
): Promise<void> => {
  const lease = await acquireLease(log, { ...request, ttlMs: LEASE_TTL_MS }, signal);
  try {
    await work(AbortSignal.any([signal, lease.lost]));
  } finally {
    await lease.release();
  }
};

/** The new revision, or false when another process wrote first. An empty value is a released lease. */
const write = async (
  log: EventLog,
  subject: string,
  holder: string,
  revision: number,
  withinMs: number,
): Promise<number | false> => {
  const written = await publish(log, {
    stream: STREAM,
    subject,
    data: utf8.encode(holder),
    id: newUuid(),
    fence: { filter: subject, sequence: revision },
    withinMs,
  });
  return written.kind === 'stored' ? written.sequence : false;
};

interface Held {
  readonly subject: string;
  readonly holder: string;
  readonly ttlMs: number;
  readonly revision: number;
  /** On the monotonic clock, before the request was sent. */
  readonly sentAt: number;
}

const hold = (log: EventLog, { subject, holder, ttlMs, ...taken }: Held): Lease => {
  const lost = new AbortController();
  const released = new AbortController();
  const over = AbortSignal.any([lost.signal, released.signal]);
  let { revision } = taken;
  let deadline: NodeJS.Timeout | undefined;
  const lose = (why: string): void => {
    if (over.aborted) return;
    log.logger.warn({ lease: subject, holder, why }, 'the lease is lost');
    lost.abort(new Error(`the lease ${subject} is lost: ${why}`));
  };
  const holdSince = (sentAt: number): void => {
    clearTimeout(deadline);
    deadline = setTimeout(
      () => lose(`it could not be renewed within ${ttlMs} ms`),
      // A process that was frozen may learn too late that it was renewed.
      Math.max(sentAt + ttlMs - performance.now(), 0),
    );
  };
  const renew = async (): Promise<void> => {
    while (!over.aborted) {
      await pause(ttlMs / 3, undefined, { signal: over });
      const sentAt = performance.now();
      try {
        const renewed = await write(log, subject, holder, revision, ttlMs / 2);
        if (renewed === false) return lose('another process holds it');
        revision = renewed;
        holdSince(sentAt);
      } catch (error) {
        log.logger.debug({ err: error, lease: subject }, 'the lease could not be renewed yet');
      }
    }
  };
  holdSince(taken.sentAt);
  const renewing = renew()
    .catch(() => undefined)
    .finally(() => clearTimeout(deadline));
  return {
    lost: lost.signal,
    release: async () => {
      released.abort();
      await renewing;
      if (lost.signal.aborted) return;
      // Without it the next holder only waits a little longer.
      await write(log, subject, '', revision, ttlMs).catch((error: unknown) => {
        log.logger.debug({ err: error, lease: subject }, 'the lease could not be released; it expires');
      });
    },
  };
};

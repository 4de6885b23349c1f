import { acquireLease, LEASE_TTL_MS, type Lease } from '@runledger/coordination/lease';
import type { EventLog } from '@runledger/event-log/connect/event-log';

export interface LeaderElection {
  readonly holder: string;
  /** Leads until the signal is aborted: the lease is lost, or this process stops. */
  readonly lead: (over: AbortSignal) => Promise<void>;
  /** Called when this process stops and still holds the lease. */
  readonly beforeRelease: () => Promise<void>;
}

/** Stands by until it holds the lease `scheduler`, leads, and stands by again, until the signal is aborted. */
export const electLeader = async (
  log: EventLog,
  { holder, lead, beforeRelease }: LeaderElection,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    let lease: Lease;
    try {
      lease = await acquireLease(log, { name: 'scheduler', holder, ttlMs: LEASE_TTL_MS }, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    try {
      await lead(AbortSignal.any([lease.lost, signal]));
      if (!lease.lost.aborted) await beforeRelease();
    } finally {
      await lease.release();
    }
  }
};

import type { EventLog } from '@runledger/event-log/connect/event-log';
import { acquireLease, type Lease } from '@runledger/coordination/lease';

export interface LeaderElection {
  readonly holder: string;
  /** How long a leader that is not heard keeps the lead; 3000 when left out. */
  readonly leaseTtlMs?: number;
  /** Leads until the signal is aborted: the lease is lost, or it is told to stop. */
  readonly lead: (over: AbortSignal) => Promise<void>;
  /** Still holding the lease, when told to stop. */
  readonly beforeRelease: () => Promise<void>;
}

/** Stands by until the lease `scheduler` is held, leads, and stands by again, until it is told to stop. */
export const electLeader = async (
  log: EventLog,
  { holder, leaseTtlMs, lead, beforeRelease }: LeaderElection,
  signal: AbortSignal,
): Promise<void> => {
  const request = { name: 'scheduler', holder, ...(leaseTtlMs === undefined ? {} : { ttlMs: leaseTtlMs }) };
  while (!signal.aborted) {
    let lease: Lease;
    try {
      lease = await acquireLease(log, request, signal);
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

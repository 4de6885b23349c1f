import type { PendingDelivery } from '@runledger/contracts/deliveries/deliveries';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { StoredPending } from '../timers/timers.ts';
import type { Sent } from '../core/receivers/receiver.ts';

/** A final notification that is to be brought to its end. */
export interface FinalDelivery {
  readonly key: RunKey;
  readonly origin: string;
  readonly round: number;
  /** Made so far in this round. */
  readonly tries: number;
  /** When it was to be tried; null for one that comes from the log. */
  readonly due_at: string | null;
  /** Nothing is tried after it. */
  readonly expires_at: string;
  /** Where it stands until it is settled: a fact of the run in RUNS, or a message in TIMERS. */
  readonly source: { readonly kind: 'fact' | 'due' | 'parked'; readonly sequence: number };
  /** Another notifier may have gone on with it, or somebody asked for it again: TIMERS is asked first. */
  readonly careful: boolean;
}

export interface AfterTry {
  readonly sent: Sent;
  /** `settled`: its source is used up. `superseded`: something newer in TIMERS stands for it. `interrupted`: as before. */
  readonly end: 'settled' | 'superseded' | 'interrupted';
}

/** As it stands in TIMERS until then. */
export const pendingOf = (
  { key, origin, round, tries, expires_at }: FinalDelivery,
  at: Date,
): PendingDelivery => ({
  version: 1,
  ...key,
  origin,
  round,
  tries,
  due_at: at.toISOString(),
  expires_at,
});

/** What a message of TIMERS stands for. */
export const deliveryIn = (
  { sequence, delivery }: StoredPending,
  kind: 'due' | 'parked',
  careful: boolean,
): FinalDelivery => ({
  key: { org_id: orgId(delivery.org_id), run_id: runId(delivery.run_id) },
  origin: delivery.origin,
  round: delivery.round,
  tries: delivery.tries,
  due_at: delivery.due_at,
  expires_at: delivery.expires_at,
  source: { kind, sequence },
  careful,
});

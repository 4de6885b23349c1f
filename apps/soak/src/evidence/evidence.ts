import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunPlan } from '../clients/plan.ts';
import type { Size } from '../parameters/size.ts';
import type { LoggedRuns } from './logged-run.ts';
import type { ClientRecords, ShownRun } from '../clients/client-records.ts';
import type { FaultRecords } from '../cluster/outages.ts';

/** What one gateway shows when everything has ended. */
export interface ShownByGateway {
  readonly gateway: string;
  /** All pages of its list, one after the other. */
  readonly listed: readonly { readonly run: string; readonly shown: ShownRun }[];
  /** One by one; null where it answered that there is no such run. */
  readonly read: readonly { readonly run: string; readonly shown: ShownRun | null }[];
  /** Why it did not show all of it, although it had its time. */
  readonly refuses?: string;
}

/** A program says by itself, beside all services, that it has begun. */
export interface Begun {
  readonly run: string;
  readonly attempt: number;
}

/** A message that a consumer could not take. */
interface DeadLetter {
  readonly subject: string;
  readonly consumer: string;
  readonly reason: string;
}

/** All that is known of a soak once everything is quiet. The checks rest on it alone. */
export interface Evidence {
  readonly plans: readonly RunPlan[];
  readonly records: ClientRecords;
  readonly runs: LoggedRuns;
  /** Messages that were seen in the log and are not there any more, or are others now. */
  readonly vanished: readonly StoredMessage[];
  readonly shown: readonly ShownByGateway[];
  readonly diary: readonly Begun[];
  readonly deadLetters: readonly DeadLetter[];
  readonly faults: FaultRecords;
  readonly size: Pick<Size, 'cancelEnforceS' | 'heartbeatPeriodS'>;
}

/** A promise that was not kept. */
export interface Violation {
  /** In words, as the architecture page has it. */
  readonly guarantee: string;
  /** Null when it is none of a single run. */
  readonly run: string | null;
  /** When it happened, for what is told beside it; a run's own times say more. */
  readonly at?: number;
  readonly says: string;
}

export type Check = (evidence: Evidence) => Violation[];

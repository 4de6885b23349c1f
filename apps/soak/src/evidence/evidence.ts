import type { Pool } from '@runledger/contracts/requests/pools';
import type { RunLogItem } from '@runledger/contracts/http/runs/run-logs';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { InvariantName } from '@runledger/testing/invariants';
import type { ClientRecords, RunResponse } from '../clients/client-records.ts';
import type { RunPlan } from '../clients/plan.ts';
import type { FaultRecords } from '../cluster/outages.ts';
import type { ArchiveFailure } from '../cluster/archive-store.ts';
import type { ArchiveTrouble } from '../faults/archive-faults.ts';
import type { BrokerFaultMade, BrokerFault } from '../faults/broker-faults.ts';
import type { Trespass } from '../faults/trespass.ts';
import type { LimitChange } from '../faults/limit-changes.ts';
import type { Size } from '../size.ts';
import type { LoggedRuns } from './logged-run.ts';

/** What one gateway shows after everything has ended. */
export interface GatewayResponses {
  readonly gateway: string;
  /** All pages of its list. */
  readonly listed: readonly { readonly run: string; readonly shown: RunResponse }[];
  /** One read for each run, with its inputs and its workflow; null where the answer is 404. */
  readonly read: readonly { readonly run: string; readonly shown: RunResponse | null }[];
  /** Why the gateway did not show everything in time. */
  readonly failure?: string;
}

/** What a gateway answers for an output file, long after the last fault. */
export interface FileResponse {
  readonly gateway: string;
  readonly run: string;
  readonly key: string;
  readonly status: number;
  /** Of the content, in hexadecimal digits. */
  readonly sha256: string;
}

/** What a gateway answers for the logs of a run that has ended. */
export interface LogsResponse {
  readonly gateway: string;
  readonly run: string;
  readonly status: number;
  readonly items: readonly RunLogItem[];
}

/** The same for a record of the catalogue. */
export interface RecordResponse {
  readonly gateway: string;
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
  readonly isListed: boolean;
}

/** A program reports its own start, independently of the services. */
export interface ProgramStart {
  readonly run: string;
  readonly attempt: number;
}

/** A message that a consumer could not handle. */
interface DeadLetter {
  readonly subject: string;
  readonly consumer: string;
  readonly reason: string;
}

/** Of the organisations that share the slots of a GPU model. */
export interface SharingEvidence {
  readonly greedy_ids: readonly string[];
  readonly modest_id: string;
  readonly orgLimits: Readonly<Record<string, number>>;
  /** All GPU models with runs or slots, as a gateway shows them after everything has ended; undefined without an answer. */
  readonly pools: readonly Pool[] | undefined;
}

/** Of the archive, whose objects failed for a while. */
export interface ArchiveEvidence extends ArchiveTrouble {
  /** Organisations that gateways name as behind, long after the last fault. */
  readonly stillNamed: readonly string[];
  /** The messages that the object of each run has, by their sequences. Undefined for an archive in the broker. */
  readonly kept: ReadonlyMap<string, ReadonlySet<number> | 'damaged'> | undefined;
}

/** All that is known of a soak when everything is settled. The checks use nothing else. */
export interface Evidence {
  readonly plans: readonly RunPlan[];
  readonly records: ClientRecords;
  readonly runs: LoggedRuns;
  /** Messages that were in the log once, and are missing or different now. */
  readonly vanished: readonly StoredMessage[];
  readonly shown: readonly GatewayResponses[];
  /** Every file that the log names, also those that were deleted. */
  readonly files: readonly FileResponse[];
  /** Of each run that was to write lines to its log, at one gateway. */
  readonly logs: readonly LogsResponse[];
  /** Every record that clients created. */
  readonly catalogue: readonly RecordResponse[];
  /** The same as `shown` with the API key of another organisation, which has no run. */
  readonly strangerResponses: readonly GatewayResponses[];
  /** Of the clients. */
  readonly org_id: string;
  /** Of the glutton. */
  readonly glutton_id: string;
  readonly sharing: SharingEvidence;
  readonly promises: Promises;
  /** Files that executors had to send again, with the reason. */
  readonly refusedUploads: readonly { readonly run: string; readonly why: string }[];
  /** Messages that left the log before they were archived. */
  readonly unarchived: number;
  readonly programStarts: readonly ProgramStart[];
  readonly deadLetters: readonly DeadLetter[];
  readonly faults: FaultRecords;
  /** Of a cluster of brokers, in their order. */
  readonly brokerFaults: readonly BrokerFaultMade[];
  readonly limits: readonly LimitChange[];
  readonly archive: ArchiveEvidence;
  /** What users of the broker tried and may not do. */
  readonly trespasses: readonly Trespass[];
  /** Lines of the brokers' logs: what else was refused to a user. */
  readonly brokerRefusals: readonly string[];
  readonly size: Pick<Size, 'cancelEnforceS' | 'heartbeatPeriodS' | 'shortLogAgeMs'>;
}

/** What shows that an invariant was not kept. */
export interface Finding {
  /** Null if it concerns no single run. */
  readonly run: string | null;
  /** When it happened, for a violation without a run. */
  readonly at?: number;
  readonly message: string;
}

export interface Violation extends Finding {
  readonly invariant: InvariantName;
}

export type Check = (evidence: Evidence) => Finding[];

/** Organisations whose runs no client planned. */
export const unplannedIn = ({ glutton_id, sharing }: Evidence): ReadonlySet<string> =>
  new Set([glutton_id, ...sharing.greedy_ids, sharing.modest_id]);

/** Nobody waits for its slots or holds one. */
export const isIdle = ({ busy_slots, organisations }: Pool): boolean =>
  busy_slots === 0 && organisations.length === 0;

/** What a seed says that it does, as planned. The timing decides what comes of it. */
export interface Promises {
  /** Changes of limits, each store once at least. */
  readonly limits: readonly Pick<LimitChange, 'store' | 'kind'>[];
  /** The database is emptied, or gets an older copy back. */
  readonly databaseLosesData: boolean;
  readonly archive: readonly ArchiveFailure[];
  /** Faults of a cluster of brokers. */
  readonly brokerFaults: readonly Pick<BrokerFault, 'kind' | 'victims'>[];
}

import type { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import type { RunStatus, WebhookStatus } from '@runledger/contracts/http/runs/run-attempt';
import type { Resource } from '@runledger/contracts/http/organisations';
import type { WebhookPayload } from '@runledger/contracts/deliveries/webhook-payload';

/** The requests of clients, the answers and their times, recorded as they happen. Times are milliseconds since the epoch. */

/** A request of an organisation that takes all it can get, and the answer. */
export interface Taking {
  readonly resource: Resource;
  readonly gateway: string;
  readonly at: number;
  /** 0 without an answer. */
  readonly status: number;
  /** Of a refusal. */
  readonly why: string;
}

/** The members of a GET answer that the log confirms. */
export interface RunResponse {
  readonly status: RunStatus;
  readonly updated_at: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly number: number;
  /** `<run id>.<attempt>`. */
  readonly compute_function_call_id: string | null;
  readonly webhook_status: WebhookStatus | null;
  readonly finished: boolean;
  readonly end_reason: string | null;
  readonly rerun_of: string | null;
  readonly texts: readonly string[];
  /** Of stored output files. */
  readonly files: readonly string[];
  /** Such as "outputs deleted". */
  readonly missing: readonly string[];
}

export type Answer =
  | { readonly kind: 'queued'; readonly run: string }
  | { readonly kind: 'shown'; readonly shown: RunResponse }
  | { readonly kind: 'cancelled'; readonly outcome: 'cancelled' | 'cancellation_requested' | 'already_ended' }
  | { readonly kind: 'cancelled_many'; readonly body: string }
  | { readonly kind: 'redelivered'; readonly round: number }
  | { readonly kind: 'drain_state'; readonly draining: boolean }
  | { readonly kind: 'created'; readonly id: string }
  | { readonly kind: 'uploaded'; readonly id: string }
  | { readonly kind: 'deleted'; readonly outcome: 'deleted' | 'already_deleted' }
  | {
      readonly kind: 'listed';
      readonly runs: readonly { readonly run: string; readonly shown: RunResponse }[];
    }
  /** Its facts, such as `12 RunQueued`. */
  | { readonly kind: 'history'; readonly facts: readonly string[]; readonly hasGap: boolean }
  /** A record of the catalogue was archived or deleted. */
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly status: number; readonly why: string }
  /** The request may or may not have had an effect. */
  | { readonly kind: 'lost'; readonly why: string };

export type RequestKind =
  /** Of the file that is an input of the run. */
  | 'upload'
  | 'queue'
  /** With the key of an accepted request and another body. */
  | 'queue_other'
  | 'rerun'
  | 'get'
  | 'wait'
  | 'cancel'
  | 'cancel_many'
  | 'redeliver'
  /** By an operator, of an executor's name. */
  | 'drain'
  | 'resume'
  /** Of a record of the catalogue. */
  | 'create'
  | 'archive'
  | 'delete_record'
  | 'delete_run'
  | 'delete_outputs'
  /** The list of the runs that were created in the same millisecond. */
  | 'list'
  | 'history'
  /** With the key of a run that was deleted. */
  | 'queue_deleted'
  /** Of a run or record that was deleted. */
  | 'after_deletion'
  /** About a run or deployment of this organisation, with the API key of another one. */
  | 'foreign';

export interface Exchange {
  readonly kind: RequestKind;
  /** The organisation of the client. */
  readonly org_id: string;
  /** The method and the path. */
  readonly what: string;
  /** The number of the client's plan; 0 without one. */
  readonly request: number;
  /** Null if the client did not know the run. */
  readonly run: string | null;
  readonly key: string | null;
  readonly gateway: string;
  readonly sentAt: number;
  readonly seenAt: number;
  readonly answer: Answer;
}

/** A fact event of a stream. */
export interface StreamedFact {
  readonly at: number;
  readonly id: string | null;
  readonly fact: RunFactEvent;
}

/** The subscription of one client to one run, over all its connections. */
export interface RunStream {
  readonly run: string;
  readonly facts: readonly StreamedFact[];
  /** Each connection: gateway, time, the last event before it, and how it ended. */
  readonly connections: readonly {
    readonly gateway: string;
    readonly from: number;
    readonly to: number;
    readonly after: string | null;
    readonly how: string;
  }[];
  /** It received the end of the run, or the answer that no more events follow. */
  readonly complete: boolean;
}

/** A notification and the status of the answer; null if the receiver closed the connection instead. */
export interface ReceivedNotification {
  readonly at: number;
  readonly webhookId: string;
  readonly payload: WebhookPayload;
  readonly answer: number | null;
}

/** An executor name that an operator drained. */
export interface Drain {
  readonly name: string;
  /** When a gateway answered that it is drained. */
  readonly drainedAt: number;
  /** When the first request to resume it was sent. */
  readonly resumedAt: number;
}

/** A record of the catalogue that a client created. */
export interface CreatedRecord {
  readonly path: string;
  /** Members of the record. */
  readonly members: Readonly<Record<string, unknown>>;
  /** `deleting`: whether it was deleted is unknown. */
  state: 'kept' | 'deleting' | 'deleted';
}

export interface ClientRecords {
  readonly catalogue: readonly CreatedRecord[];
  /** Of the glutton. */
  readonly takings: readonly Taking[];
  readonly drains: readonly Drain[];
  readonly exchanges: readonly Exchange[];
  readonly streams: readonly RunStream[];
  readonly received: readonly ReceivedNotification[];
}

import type { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import type { RunStatus, WebhookStatus } from '@runledger/contracts/http/runs/run';
import type { WebhookPayload } from '@runledger/contracts/deliveries/webhook-payload';

/** What clients asked, what they were told, and when: written down as it happened. Times are milliseconds since the epoch. */

/** What a GET says of a run, as far as it can be held against the log. */
export interface ShownRun {
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
}

export type Answer =
  | { readonly kind: 'queued'; readonly run: string }
  | { readonly kind: 'shown'; readonly shown: ShownRun }
  | { readonly kind: 'cancelled'; readonly outcome: 'cancelled' | 'cancellation_requested' | 'already_ended' }
  | { readonly kind: 'cancelled_many'; readonly said: string }
  | { readonly kind: 'refused'; readonly status: number; readonly why: string }
  /** Whatever was asked may or may not have been done. */
  | { readonly kind: 'lost'; readonly why: string };

export type RequestKind = 'queue' | 'rerun' | 'get' | 'wait' | 'cancel' | 'cancel_many';

export interface Exchange {
  readonly kind: RequestKind;
  /** The number of the client's plan; 0 for none. */
  readonly request: number;
  /** When the client knew it. */
  readonly run: string | null;
  readonly key: string | null;
  readonly gateway: string;
  readonly sentAt: number;
  readonly seenAt: number;
  readonly answer: Answer;
}

/** A fact as a stream told it. */
export interface StreamedFact {
  readonly at: number;
  readonly id: string | null;
  readonly fact: RunFactEvent;
}

/** One client watching one run, over as many connections as it took. */
export interface RunStream {
  readonly run: string;
  readonly facts: readonly StreamedFact[];
  /** Each connection: where, from when to when, behind which event, and how it ended. */
  readonly connections: readonly {
    readonly gateway: string;
    readonly from: number;
    readonly to: number;
    readonly after: string | null;
    readonly how: string;
  }[];
  /** It was told the end, or that nothing follows. */
  readonly complete: boolean;
}

/** A notification as it arrived, and what it was answered; null: the connection was broken instead. */
export interface Received {
  readonly at: number;
  readonly webhookId: string;
  readonly payload: WebhookPayload;
  readonly answered: number | null;
}

export interface ClientRecords {
  readonly exchanges: readonly Exchange[];
  readonly streams: readonly RunStream[];
  readonly received: readonly Received[];
}

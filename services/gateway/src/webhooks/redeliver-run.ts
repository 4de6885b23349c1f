import { newUuid } from '@runledger/contracts/ids';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { decideAndAppend, type Decision } from '@runledger/event-log/append/decide-and-append';
import type { RunLog } from '@runledger/event-log/messages/run-messages';
import { lastOfRun, readRun, type ReadRun } from '@runledger/event-log/read/read-run';
import type { Envelope } from '../runs/current/core/envelope.ts';
import { redeliver, type RedeliverRefusal } from './core/redeliver.ts';
import type { WebhookStatus } from '@runledger/contracts/http/runs/run-status';
import { statusOf } from '../projection/core/webhook-status.ts';
import type { CurrentRun, ReadCurrentRun } from '../runs/current/current-run.ts';
import type { ShownWebhooks } from '../runs/current/shown-webhooks.ts';

type Redelivery =
  /** The request is stored. The notifier delivers. */
  | { readonly kind: 'requested'; readonly round: number }
  /** `expired`: the log no longer has the run's events, which a notification is made from, or those of its notifications. */
  | { readonly kind: 'refused'; readonly because: RedeliverRefusal | 'expired' }
  /** Its status is no longer one of those that the request names. */
  | { readonly kind: 'status_excluded' }
  /** The delivery changed again and again while it was decided on. */
  | { readonly kind: 'too_busy' }
  | Exclude<CurrentRun, { kind: 'found' }>;

export interface RedeliverRunOptions {
  readonly log: RunLog;
  readonly current: ReadCurrentRun;
  readonly shown: ShownWebhooks;
  readonly writer: Envelope['writer'];
  readonly now: () => Date;
  readonly onConflict: () => void;
}

export interface Requester {
  readonly user_id: string;
  readonly traceparent: string | null;
}

/** `only` limits it to runs with these webhook statuses. @throws {LogUnavailable} */
export type RedeliverRun = (
  key: RunKey,
  by: Requester,
  only?: readonly WebhookStatus[],
) => Promise<Redelivery>;

/** Decides on the run as the log's leader has it. When its events have expired, decides on its view. */
export const redeliverRun =
  ({ log, current, shown, writer, now, onConflict }: RedeliverRunOptions): RedeliverRun =>
  async (key, { user_id, traceparent }, only) => {
    const decided = await decideAndAppend<Known, Decided>(log, {
      read: async (atLeast) => {
        const read = await readRun(log, key, { atLeast: atLeast ?? (await lastOfRun(log, key)) });
        return read.kind === 'found'
          ? { found: read, isInLog: true }
          : { found: await current(key), isInLog: false };
      },
      decide: ({ found, isInLog }) => {
        if (found.kind !== 'found') return answer(found);
        if (!found.webhook)
          return answer('webhookExpired' in found && found.webhookExpired ? EXPIRED : DAMAGED);
        const { state: webhook, head } = found.webhook;
        if (only && !only.includes(statusOf(webhook))) return answer({ kind: 'status_excluded' });
        const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer, traceparent };
        const decision = redeliver(found.run, webhook, { user_id }, envelope);
        if (decision.kind === 'refused') return answer(decision);
        if (!isInLog) return answer(EXPIRED);
        const { event } = decision;
        const running = { status: 'running', round: event.round, updated_at: event.time } as const;
        const redelivery = { kind: 'requested', round: event.round } as const;
        return { kind: 'append', event, expected: head, answer: { redelivery, running } };
      },
      onConflict,
    });
    if (decided.kind === 'too_busy') return { kind: 'too_busy' };
    const { redelivery, running } = decided.answer;
    if (decided.kind === 'appended') shown.remember(key, { head: decided.sequence, state: running });
    return redelivery;
  };

interface Known {
  readonly found: Extract<ReadRun, { kind: 'found' }> | CurrentRun;
  readonly isInLog: boolean;
}

interface Decided {
  readonly redelivery: Redelivery;
  /** The state of the notifications after the request. */
  readonly running?: Webhook;
}

const answer = (redelivery: Redelivery): Decision<Decided> => ({ kind: 'answer', answer: { redelivery } });

const EXPIRED = { kind: 'refused', because: 'expired' } as const;

const DAMAGED = {
  kind: 'unreadable',
  why: 'its webhook facts contradict each other',
} as const;

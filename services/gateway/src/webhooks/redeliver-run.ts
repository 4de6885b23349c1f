import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { appendWebhook } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { lastOfRun, readRun } from '@runledger/event-log/read/read-run';
import type { Envelope } from '../runs/current/core/envelope.ts';
import { redeliver, type RedeliverRefusal } from './core/redeliver.ts';
import { statusOf, type WebhookStatus } from '../projection/core/webhook-status.ts';
import type { CurrentRun, ReadCurrentRun } from '../runs/current/current-run.ts';
import type { ShownWebhooks } from '../runs/current/shown-webhooks.ts';

type Redelivery =
  /** The notifier begins with it. */
  | { readonly kind: 'requested'; readonly round: number }
  /** `expired`: the log no longer holds the run's events, which a notification is made of. */
  | { readonly kind: 'refused'; readonly because: RedeliverRefusal | 'expired' }
  /** Its status is none of those that were asked for, any more. */
  | { readonly kind: 'not_asked_for' }
  /** The delivery changed again and again while it was decided on. */
  | { readonly kind: 'too_busy' }
  | Exclude<CurrentRun, { kind: 'found' }>;

export interface RedeliverRunOptions {
  readonly log: EventLog;
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

/** Whatever its status is, unless some are named. @throws {LogUnavailable} */
export type RedeliverRun = (
  key: RunKey,
  by: Requester,
  only?: readonly WebhookStatus[],
) => Promise<Redelivery>;

const MOST_TRIES = 10;

/** Reads, decides and appends at what it decided on; when something else was stored first, it reads and decides again. */
export const redeliverRun =
  ({ log, current, shown, writer, now, onConflict }: RedeliverRunOptions): RedeliverRun =>
  async (key, { user_id, traceparent }, only) => {
    let atLeast = await lastOfRun(log, key);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const read = await readRun(log, key, { atLeast });
      // A run whose events have expired is known to the views only.
      const known = read.kind === 'found' ? read : await current(key);
      if (known.kind !== 'found') return known;
      if (!known.webhook) {
        return { kind: 'unreadable', why: 'what became of its notifications does not hang together' };
      }
      const { state: webhook } = known.webhook;
      if (only && !only.includes(statusOf(webhook))) return { kind: 'not_asked_for' };
      const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer, traceparent };
      const decision = redeliver(known.run, webhook, { user_id }, envelope);
      if (decision.kind === 'refused') return decision;
      if (read.kind !== 'found') return { kind: 'refused', because: 'expired' };
      const appended = await appendWebhook(log, decision.event, known.webhook.head);
      if (appended.kind === 'appended') {
        const { round, time } = decision.event;
        const running = { status: 'running', round, updated_at: time } as const;
        shown.remember(key, { head: appended.sequence, state: running });
        return { kind: 'requested', round };
      }
      onConflict();
      atLeast = appended.head;
    }
    return { kind: 'too_busy' };
  };

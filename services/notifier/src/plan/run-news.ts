import { parseLifecycleSubject, parseWebhookSubject, type RunKey } from '@runledger/contracts/subjects';
import type { StoredMessage } from '@runledger/contracts/chain';
import { RUN_EVENTS, parseRunEvent } from '@runledger/contracts/run-event';
import { callbackOf, type Callback } from './callbacks.ts';

/** What a message of RUNS may mean for notifications. Whether it counts is seen when the run is read. */
export type RunNews =
  | { readonly kind: 'queued'; readonly key: RunKey; readonly callback: Callback | null }
  | { readonly kind: 'changed'; readonly key: RunKey }
  | { readonly kind: 'ended'; readonly key: RunKey }
  | { readonly kind: 'redelivery'; readonly key: RunKey; readonly round: number };

/** Undefined for what concerns no notification. */
export const runNews = ({ subject, body }: StoredMessage): RunNews | undefined => {
  const life = parseLifecycleSubject(subject);
  if (life) {
    const key = { org_id: life.org_id, run_id: life.run_id };
    if (life.fact === RUN_EVENTS.RunQueued.fact) return queued(key, body);
    const ended = life.fact === 'ended' || (life.fact === 'cancel_requested' && life.executor_id === null);
    return { kind: ended ? 'ended' : 'changed', key };
  }
  const webhook = parseWebhookSubject(subject);
  return webhook?.fact === 'redelivery_requested'
    ? {
        kind: 'redelivery',
        key: { org_id: webhook.org_id, run_id: webhook.run_id },
        round: webhook.round,
      }
    : undefined;
};

const queued = (key: RunKey, body: unknown): RunNews => {
  const parsed = parseRunEvent(body);
  return parsed.kind === 'event' && parsed.event.type === 'RunQueued'
    ? { kind: 'queued', key, callback: callbackOf(parsed.event.data) }
    : { kind: 'changed', key };
};

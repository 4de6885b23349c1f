import {
  parseLifecycleSubject,
  parseWebhookSubject,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import { acceptMessage, EMPTY_HISTORY, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { RUN_EVENTS } from '@runledger/contracts/events/run-event';
import { webhookTargetOf, type WebhookTarget } from './webhook-targets.ts';

/** What a message of RUNS may mean for notifications. Whether it is valid is known when the run is read. */
export type RunNotice =
  | { readonly kind: 'queued'; readonly key: RunKey; readonly target: WebhookTarget | null }
  | { readonly kind: 'changed'; readonly key: RunKey }
  | { readonly kind: 'ended'; readonly key: RunKey }
  | { readonly kind: 'redelivery'; readonly key: RunKey; readonly round: number };

/** Undefined for a message that concerns no notification. */
export const runNotice = (message: StoredMessage): RunNotice | undefined => {
  const { subject } = message;
  const life = parseLifecycleSubject(subject);
  if (life) {
    const key = { org_id: life.org_id, run_id: life.run_id };
    if (life.fact === RUN_EVENTS.RunQueued.fact) return queued(key, message);
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

/** Only the first fact of the run counts: a forged one would turn the webhook off, or redirect it. */
const queued = (key: RunKey, message: StoredMessage): RunNotice => {
  const first = acceptMessage(RUN_CHAIN, EMPTY_HISTORY, message);
  return first.kind === 'accepted'
    ? { kind: 'queued', key, target: webhookTargetOf(first.state.request) }
    : { kind: 'changed', key };
};

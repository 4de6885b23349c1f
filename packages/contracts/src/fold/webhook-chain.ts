import { readChain, type Chain, type ReadChain, type StoredMessage } from './chain.ts';
import { parseWebhookSubject, webhookFilter, webhookEventSubject } from '../subjects/run-subjects.ts';
import { evolveWebhook, type Webhook } from './webhook.ts';
import {
  parseWebhookEvent,
  WEBHOOK_EVENTS,
  type WebhookEvent,
  type WebhookEventType,
} from '../events/webhook-event.ts';

/** What became of a run's notifications: a chain of its own, so that they never stand in the way of the run itself. */
export const WEBHOOK_CHAIN: Chain<WebhookEventType, WebhookEvent, Webhook> = {
  fenceOf: (subject) => {
    const run = parseWebhookSubject(subject);
    return run && webhookFilter(run);
  },
  parse: parseWebhookEvent,
  subjectOf: webhookEventSubject,
  mayBe: (type, subject) => {
    const { fact, writer } = parseWebhookSubject(subject) ?? {};
    return WEBHOOK_EVENTS[type].fact === fact && WEBHOOK_EVENTS[type].writer === writer;
  },
  evolve: evolveWebhook,
};

/** What a reader knows of a run's notifications. `head` is what the next webhook fact is fenced on; 0 for none. */
export interface WebhookHistory {
  readonly head: number;
  readonly webhook: Webhook | undefined;
}

export const EMPTY_WEBHOOK_HISTORY: WebhookHistory = { head: 0, webhook: undefined };

/** Folds the stored webhook facts of one run, in the order of their sequences. */
export const readWebhookChain = (
  messages: readonly StoredMessage[],
): ReadChain<WebhookEventType, WebhookEvent, Webhook> => readChain(WEBHOOK_CHAIN, messages);

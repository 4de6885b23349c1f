import {
  newerWebhookEvent,
  parseWebhookEvent,
  WEBHOOK_EVENTS,
  type WebhookEvent,
  type WebhookEventType,
} from '../events/webhook-event.ts';
import { parseWebhookSubject, webhookEventSubject, webhookFilter } from '../subjects/run-subjects.ts';
import type { Chain, History } from './chain.ts';
import { endsWithoutLog, evolveWebhook, type Webhook } from './webhook.ts';

/** A reader's state of a run's notifications. */
export type WebhookHistory = History<Webhook>;

/** The outcome of a run's notifications: a separate chain, so that these facts never conflict with those of the run. */
export const WEBHOOK_CHAIN: Chain<WebhookEventType, WebhookEvent, Webhook> = {
  filterOf: webhookFilter,
  keyOf: parseWebhookSubject,
  parse: parseWebhookEvent,
  newerVersionOf: newerWebhookEvent,
  subjectOf: webhookEventSubject,
  belongsUnder: (type, subject) => {
    const { fact, writer } = parseWebhookSubject(subject) ?? {};
    return WEBHOOK_EVENTS[type].fact === fact && WEBHOOK_EVENTS[type].writer === writer;
  },
  // No executor writes any.
  latestVersion: () => Infinity,
  evolve: evolveWebhook,
  needs: (event) => (endsWithoutLog(event) ? 'nothing' : 'fact_before'),
};

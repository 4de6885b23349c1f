import { isRunEventType } from '../events/run-event.ts';
import { parseWebhookSubject, webhookEventSubject, webhookFilter } from '../events/subjects.ts';
import {
  isWebhookEventType,
  newerWebhookEvent,
  parseWebhookEvent,
  WEBHOOK_EVENTS,
  type DeliveryAttemptResult,
  type WebhookEvent,
  type WebhookEventType,
  type WebhookGivenUpReason,
} from '../events/webhook-event.ts';
import type { Chain, FactOf, History, Impossible } from './chain.ts';
import { isEnded, type RunState } from './run.ts';

export type WebhookFact = FactOf<WebhookEvent>;

interface Round {
  /** 1 for the first delivery of the final notification. */
  readonly round: number;
  /** The broker's time of the last fact. */
  readonly updated_at: string;
}

/** The state of a run's notifications; undefined before the first fact. */
export type Webhook =
  | (Round & { readonly status: 'running' })
  | (Round & { readonly status: 'success'; readonly tries: number })
  | (Round & {
      readonly status: 'failed';
      readonly tries: number;
      readonly reason: WebhookGivenUpReason;
      readonly last_reason: DeliveryAttemptResult | null;
      readonly message: string;
    });

/** The current round, or the last one. */
export const roundOf = (webhook: Webhook | undefined): number => webhook?.round ?? 1;

/** Nothing more is sent until somebody requests a redelivery. */
export const isSettled = (webhook: Webhook | undefined): boolean =>
  webhook !== undefined && webhook.status !== 'running';

/** A final notification of the run is due: it has ended, has a webhook, and its notifications have not settled. */
export const isUnsettled = (run: RunState, webhook: Webhook | undefined): boolean =>
  isEnded(run) && run.request.webhook !== null && !isSettled(webhook);

/** The log has lost what came before in the chain, or is about to. Its round is the present one, and it ends. */
export const endsWithoutLog = (event: WebhookEvent): boolean =>
  event.type === 'WebhookExpired' || (event.type === 'WebhookGivenUp' && event.data.reason === 'log_expired');

/** The only fold of a run's notifications. Pure and total, as the fold of the run. */
export const evolveWebhook = (webhook: Webhook | undefined, fact: WebhookFact): Webhook | Impossible => {
  const { event, time } = fact;
  const round = webhook === undefined && endsWithoutLog(event) ? event.round : roundOf(webhook);
  if (event.type === 'WebhookRedeliveryRequested') {
    return event.round === round + 1
      ? { status: 'running', round: event.round, updated_at: time }
      : impossible(webhook, fact);
  }
  if (event.round !== round || isSettled(webhook)) return impossible(webhook, fact);
  switch (event.type) {
    case 'WebhookStarted':
      return webhook ? impossible(webhook, fact) : { status: 'running', round, updated_at: time };
    case 'WebhookDelivered':
      return { status: 'success', round, updated_at: time, tries: event.data.tries };
    case 'WebhookGivenUp': {
      const { tries, reason, last_reason, message } = event.data;
      return { status: 'failed', round, updated_at: time, tries, reason, last_reason, message };
    }
    case 'WebhookExpired':
      return {
        status: 'failed',
        round,
        updated_at: time,
        tries: 0,
        reason: 'log_expired',
        last_reason: null,
        message: event.data.message,
      };
  }
};

const impossible = (webhook: Webhook | undefined, { event }: WebhookFact): Impossible => ({
  impossible: `${event.type} of round ${event.round} cannot follow ${
    webhook ? `a delivery that is ${webhook.status} in round ${webhook.round}` : 'nothing'
  }`,
});

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
    if (!isWebhookEventType(type)) return !isRunEventType(type);
    const { fact, writer } = parseWebhookSubject(subject) ?? {};
    return WEBHOOK_EVENTS[type].fact === fact && WEBHOOK_EVENTS[type].writer === writer;
  },
  // No executor writes any.
  latestVersion: () => Infinity,
  evolve: evolveWebhook,
  needs: (event) => (endsWithoutLog(event) ? 'nothing' : 'fact_before'),
};

import type { StoredMessage } from '../src/chain.ts';
import { webhookOf, webhookSubjectOf } from '../src/subjects.ts';
import {
  WEBHOOK_EVENTS,
  type WebhookEvent,
  type WebhookEventOf,
  type WebhookEventType,
} from '../src/webhook-event.ts';
import type { WebhookFact } from '../src/webhook.ts';
import { ORG, RUN, timeOf } from './an-event.ts';

const WEBHOOK_ID = `msg_${RUN}`;

const DATA: { [T in WebhookEventType]: WebhookEventOf<T>['data'] } = {
  WebhookStarted: { notification: 'final' },
  WebhookDelivered: { webhook_id: WEBHOOK_ID, tries: 2, status: 204 },
  WebhookGivenUp: {
    webhook_id: WEBHOOK_ID,
    tries: 13,
    reason: 'tries_used_up',
    last_reason: 'server_error',
    status: 503,
    message: 'the receiver answered 503',
  },
  WebhookRedeliveryRequested: { user_id: '01920000-0000-7000-8000-000000000001' },
};

export const aWebhookEvent = <T extends WebhookEventType>(
  type: T,
  round = type === 'WebhookRedeliveryRequested' ? 2 : 1,
  data: Partial<WebhookEventOf<T>['data']> = {},
): WebhookEventOf<T> =>
  // The compiler does not see that an envelope with this type's data is this type's event.
  ({
    type,
    version: 1,
    event_id: '01920000-0000-7000-8000-000000000200',
    run_id: RUN,
    org_id: ORG,
    time: '2026-01-01T00:00:00.000Z',
    writer: { service: WEBHOOK_EVENTS[type].writer, instance: 'one' },
    correlation_id: 'request-1',
    causation_id: null,
    traceparent: null,
    round,
    data: { ...DATA[type], ...data },
  }) as unknown as WebhookEventOf<T>;

export const webhookFactOf = (event: WebhookEvent, sequence: number): WebhookFact => ({
  event,
  sequence,
  time: timeOf(sequence),
});

export const storedWebhook = (
  event: WebhookEvent,
  sequence: number,
  rests: number,
  changes: Partial<StoredMessage> = {},
): StoredMessage => ({
  subject: webhookSubjectOf(event),
  sequence,
  time: timeOf(sequence),
  fence: webhookOf({ org_id: ORG, run_id: RUN }),
  expectedSequence: rests,
  body: event,
  ...changes,
});

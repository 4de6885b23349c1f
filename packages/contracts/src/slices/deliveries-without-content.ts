import type { DeliveryAttempt, DeliveryState } from '../deliveries/delivery-attempts.ts';
import type { WebhookEvent, WebhookEventOf, WebhookEventType } from '../events/webhook-event.ts';
import { ENVELOPE_RULES, hidden, type Hiding, type Rules } from './content-rules.ts';
import { maskedAddress } from './masks.ts';

const WEBHOOK_RULES: { readonly [Type in WebhookEventType]: Rules<WebhookEventOf<Type>['data']> } = {
  WebhookStarted: { notification: 'kept' },
  WebhookDelivered: { webhook_id: 'kept', tries: 'kept', status: 'kept' },
  WebhookGivenUp: {
    webhook_id: 'kept',
    tries: 'kept',
    reason: 'kept',
    last_reason: 'kept',
    status: 'kept',
    message: { content: 'texts', without: () => '' },
  },
  WebhookExpired: { message: { content: 'texts', without: () => '' } },
  WebhookRedeliveryRequested: { user_id: 'kept' },
};

const ENVELOPE: Rules<Omit<WebhookEvent, 'data'>> = { ...ENVELOPE_RULES, round: 'kept' };

/** As `runEventWithoutContent`, of the notifications of a run. */
export const webhookEventWithoutContent = (
  { data, ...envelope }: WebhookEvent,
  hiding: Hiding,
): WebhookEvent =>
  // The rules of a type are those of its data, which the compiler cannot follow over the union.
  ({
    ...hidden<Omit<WebhookEvent, 'data'>>(ENVELOPE, envelope, hiding),
    data: hidden<object>(WEBHOOK_RULES[envelope.type], data, hiding),
  }) as WebhookEvent;

const ATTEMPT: Rules<DeliveryAttempt> = {
  version: 'kept',
  notification: 'kept',
  webhook_id: 'kept',
  round: 'kept',
  try: 'kept',
  url: { content: 'addresses', without: (url, { pseudonym }) => maskedAddress(url, pseudonym) },
  started_at: 'kept',
  phases: 'kept',
  reason: 'kept',
  message: { content: 'texts', without: () => '' },
  status: 'kept',
  answer: { content: 'texts', without: () => null },
};

const STATE: Rules<DeliveryState> = {
  version: 'kept',
  round: 'kept',
  state: 'kept',
  tries: 'kept',
  next_try_at: 'kept',
  last_reason: 'kept',
  message: { content: 'texts', without: () => null },
  at: 'kept',
};

/** The outcome of a delivery attempt, so that a slice tells which answer came when. */
export const deliveryAttemptWithoutContent = (attempt: DeliveryAttempt, hiding: Hiding): DeliveryAttempt =>
  hidden(ATTEMPT, attempt, hiding);

export const deliveryStateWithoutContent = (state: DeliveryState, hiding: Hiding): DeliveryState =>
  hidden(STATE, state, hiding);

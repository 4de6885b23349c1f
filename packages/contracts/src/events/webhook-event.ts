import { Type, type Static, type TObject } from 'typebox';
import { DeliveryAttemptResult } from './delivery-attempt-result.ts';
import { aboutEvent, eventReader, type ParsedEvent } from './event-envelope.ts';
import { enumInWords } from '../words/in-words.ts';
import { MAX_ERROR_MESSAGE } from '../limits.ts';
import type { WriterRole } from './writer.ts';

/** The first delivery of a run's final notification, and all redeliveries. */
export const MAX_ROUNDS = 50;

const event = <const Name extends string, Data extends TObject>(type: Name, version: number, data: Data) =>
  Type.Object({
    type: Type.Literal(type),
    version: Type.Literal(version),
    ...aboutEvent,
    /** 1 for the first delivery; one more with every redelivery. */
    round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
    data,
  });

const Uuid = Type.String({ format: 'uuid' });
const WebhookId = Type.String({ minLength: 1, maxLength: 128 });
const Status = Type.Union([Type.Integer({ minimum: 100, maximum: 599 }), Type.Null()]);

/** A notification is being sent, and the receiver did not accept it at once. */
export const WebhookStartedData = Type.Object({ notification: Type.Enum(['intermediate', 'final']) });

/** The receiver accepted the final notification. */
export const WebhookDeliveredData = Type.Object({
  webhook_id: WebhookId,
  tries: Type.Integer({ minimum: 1 }),
  status: Status,
});

export const WebhookGivenUpReason = enumInWords(
  {
    gone: 'The receiver answered 410.',
    tries_used_up: 'The last attempt failed.',
    expired: 'The time for it was over.',
    log_expired: 'The first events of the run expired from the log, and it cannot be sent again.',
  },
  { description: 'Why no further attempt is made.' },
);
export type WebhookGivenUpReason = Static<typeof WebhookGivenUpReason>;

/** No further attempt is made unless somebody requests a redelivery. */
export const WebhookGivenUpData = Type.Object({
  webhook_id: WebhookId,
  tries: Type.Integer({ minimum: 0 }),
  reason: WebhookGivenUpReason,
  /** How the last attempt ended; null when there was none. */
  last_reason: Type.Union([DeliveryAttemptResult, Type.Null()]),
  status: Status,
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
});

/** The log has lost the run, so nothing can be made of it any more. Only its view knows that a notification was left. */
export const WebhookExpiredData = Type.Object({ message: Type.String({ maxLength: MAX_ERROR_MESSAGE }) });

export const WebhookRedeliveryRequestedData = Type.Object({ user_id: Uuid });

/** The outcome of a run's notifications. Attempts are not facts. */
export const WEBHOOK_EVENTS = {
  WebhookStarted: {
    fact: 'started',
    writer: 'notifier',
    schema: event('WebhookStarted', 1, WebhookStartedData),
  },
  WebhookDelivered: {
    fact: 'delivered',
    writer: 'notifier',
    schema: event('WebhookDelivered', 1, WebhookDeliveredData),
  },
  WebhookGivenUp: {
    fact: 'given_up',
    writer: 'notifier',
    schema: event('WebhookGivenUp', 1, WebhookGivenUpData),
  },
  WebhookExpired: {
    fact: 'expired',
    writer: 'gateway',
    schema: event('WebhookExpired', 1, WebhookExpiredData),
  },
  WebhookRedeliveryRequested: {
    fact: 'redelivery_requested',
    writer: 'gateway',
    schema: event('WebhookRedeliveryRequested', 1, WebhookRedeliveryRequestedData),
  },
} as const satisfies Record<string, { fact: string; writer: WriterRole; schema: TObject }>;

export type WebhookEventType = keyof typeof WEBHOOK_EVENTS;
export type WebhookEventOf<T extends WebhookEventType> = Static<(typeof WEBHOOK_EVENTS)[T]['schema']>;
export type WebhookEvent = { [T in WebhookEventType]: WebhookEventOf<T> }[WebhookEventType];

export const WEBHOOK_EVENT_TYPES = Object.keys(WEBHOOK_EVENTS) as WebhookEventType[];

export const isWebhookEvent = (event: { readonly type: string }): event is WebhookEvent =>
  Object.hasOwn(WEBHOOK_EVENTS, event.type);

export type ParsedWebhookEvent = ParsedEvent<WebhookEventType, WebhookEvent>;

export const { parse: parseWebhookEvent, newerVersionOf: newerWebhookEvent } = eventReader<
  WebhookEventType,
  WebhookEvent
>(WEBHOOK_EVENTS);

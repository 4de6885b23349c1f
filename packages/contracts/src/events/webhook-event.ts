import { Type, type Static } from 'typebox';
import { MAX_ERROR_MESSAGE } from '../limits.ts';
import { enumInWords, valuesOf, type InWords } from '../schemas.ts';
import { eventReader, eventTypes } from './event-envelope.ts';

/** How a delivery attempt ended. Metrics have these words as labels. A table of the notifier decides the consequence of each. */
const RESULTS = {
  accepted: 'The receiver answered 2xx: it has the notification.',
  gone: 'It answered 410: it wants no further attempts.',
  redirect: 'It answered 3xx, which is never followed.',
  client_error: 'It answered 4xx, except 410 and 429.',
  throttled: 'It answered 429.',
  server_error: 'It answered 5xx.',
  forbidden: 'The webhook policy does not allow the URL, or an address that its name resolves to.',
  name_not_found: 'The name does not exist, or has no address.',
  name_unanswered: 'The authoritative DNS servers of the name do not answer.',
  connect_refused: 'The connection was refused.',
  connect_failed: 'The receiver is unreachable, or the connection was reset before anything was sent.',
  connect_timed_out: 'The attempt timed out before it was connected.',
  tls_failed: 'The certificate is invalid, or the TLS version is below 1.2.',
  reset: 'The connection ended before the headers of the response were complete.',
  malformed_answer: 'The response was not HTTP.',
  timed_out: 'It was connected, but no final status came within the time of the attempt.',
  proxy_failed: 'The egress proxy cannot be reached, or refuses the request.',
  no_dns: 'No DNS server answers.',
  interrupted: 'The notifier stopped or lost its partition during the attempt.',
  internal_error: 'A failure of the notifier.',
} as const satisfies InWords<string>;

export const DeliveryAttemptResult = enumInWords(RESULTS, { description: 'How the attempt ended.' });
export type DeliveryAttemptResult = Static<typeof DeliveryAttemptResult>;
export const DELIVERY_ATTEMPT_RESULTS: readonly DeliveryAttemptResult[] = valuesOf(RESULTS);

const seconds = (what: string) =>
  Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
    description: `Seconds ${what}. Null when that was not reached, or not needed because a connection was reused.`,
    examples: [0.012],
  });

export const DeliveryAttemptPhases = Type.Object(
  {
    dns: seconds('that it took to resolve the name'),
    connect: seconds('that it took to open the connection, also through the egress proxy'),
    tls: seconds('that the TLS handshake took'),
    wait: seconds('from the request to the last header of the response'),
    body: seconds('that it took to read the body of the response'),
  },
  { description: 'How long each phase of the attempt took.' },
);
export type DeliveryAttemptPhases = Static<typeof DeliveryAttemptPhases>;

/** The longest part of a response's body that is kept. */
export const MAX_RESPONSE_EXCERPT_BYTES = 2_048;

/** The first delivery of a run's final notification, and all redeliveries. */
export const MAX_ROUNDS = 50;

const event = eventTypes({
  /** 1 for the first delivery; one more with every redelivery. */
  round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
});

const Uuid = Type.String({ format: 'uuid' });
const WebhookId = Type.String({ minLength: 1, maxLength: 128 });
const Status = Type.Union([Type.Integer({ minimum: 100, maximum: 599 }), Type.Null()]);

/** A notification is being sent, and the receiver did not accept it at once. */
const WebhookStartedData = Type.Object({ notification: Type.Enum(['intermediate', 'final']) });

/** The receiver accepted the final notification. */
const WebhookDeliveredData = Type.Object({
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
const WebhookGivenUpData = Type.Object({
  webhook_id: WebhookId,
  tries: Type.Integer({ minimum: 0 }),
  reason: WebhookGivenUpReason,
  /** How the last attempt ended; null when there was none. */
  last_reason: Type.Union([DeliveryAttemptResult, Type.Null()]),
  status: Status,
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
});

/** The log has lost the run, so nothing can be made of it any more. Only its view knows that a notification was left. */
const WebhookExpiredData = Type.Object({ message: Type.String({ maxLength: MAX_ERROR_MESSAGE }) });

const WebhookRedeliveryRequestedData = Type.Object({ user_id: Uuid });

/** The outcome of a run's notifications. Attempts are not facts. */
export const WEBHOOK_EVENTS = {
  WebhookStarted: event('WebhookStarted', 1, 'started', 'notifier', WebhookStartedData),
  WebhookDelivered: event('WebhookDelivered', 1, 'delivered', 'notifier', WebhookDeliveredData),
  WebhookGivenUp: event('WebhookGivenUp', 1, 'given_up', 'notifier', WebhookGivenUpData),
  WebhookExpired: event('WebhookExpired', 1, 'expired', 'gateway', WebhookExpiredData),
  WebhookRedeliveryRequested: event(
    'WebhookRedeliveryRequested',
    1,
    'redelivery_requested',
    'gateway',
    WebhookRedeliveryRequestedData,
  ),
} as const;

export type WebhookEventType = keyof typeof WEBHOOK_EVENTS;
export type WebhookEventOf<T extends WebhookEventType> = Static<(typeof WEBHOOK_EVENTS)[T]['schema']>;
export type WebhookEvent = { [T in WebhookEventType]: WebhookEventOf<T> }[WebhookEventType];

export const WEBHOOK_EVENT_TYPES = Object.keys(WEBHOOK_EVENTS) as WebhookEventType[];

export const isWebhookEventType = (type: string): type is WebhookEventType =>
  Object.hasOwn(WEBHOOK_EVENTS, type);
export const isWebhookEvent = (event: { readonly type: string }): event is WebhookEvent =>
  isWebhookEventType(event.type);

export const { parse: parseWebhookEvent, newerVersionOf: newerWebhookEvent } = eventReader<
  WebhookEventType,
  WebhookEvent
>(WEBHOOK_EVENTS);

import { Type, type Static } from 'typebox';
import { DeliveryAttemptPhases, DeliveryAttemptResult } from '../events/delivery-attempt-result.ts';
import { WebhookGivenUpReason } from '../events/webhook-event.ts';
import { Cursor, NextCursor, PageLimit, Time, TimeOrDay, Uuid, wordsOf } from './fields/values.ts';
import { nullable, optional } from './fields/optional.ts';
import { WebhookStatus } from './runs/run.ts';

const Round = Type.Integer({
  minimum: 1,
  description: '1 for the first delivery; every redelivery begins another round.',
});

/** One HTTP request to a receiver. */
export const DeliveryAttempt = Type.Object(
  {
    webhook_id: Type.String({ description: 'The same in every attempt of a notification.' }),
    round: Round,
    try: Type.Integer({ minimum: 1, description: 'The number of the attempt in its round, from 1.' }),
    url: Type.String({ description: 'Without its query, which may hold a secret.' }),
    started_at: Time,
    phases: DeliveryAttemptPhases,
    reason: DeliveryAttemptResult,
    message: Type.String(),
    status: nullable(
      Type.Integer({ description: 'The HTTP status of the response; null without a response.' }),
    ),
    answer: nullable(
      Type.String({
        description:
          'The beginning of the response body; null without a response, and from an address that is not public.',
      }),
    ),
  },
  { title: 'DeliveryAttempt' },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

const deliveryState = {
  round: Round,
  state: nullable(
    Type.Enum(['retrying', 'deferred'], {
      description:
        'Null when no further attempt is planned. `deferred`: the delivery waits until the receiver accepts notifications again.',
    }),
  ),
  next_try_at: nullable(
    Type.String({ format: 'date-time', description: 'Null also for a deferred delivery.' }),
  ),
  given_up_reason: nullable(
    Type.Enum([...WebhookGivenUpReason.enum], {
      description:
        'Null unless the delivery failed. `gone`: the receiver answered 410. `tries_used_up`: its last attempt failed. `expired`: the time for it was over. `log_expired`: the first events of the run expired from the log, and it cannot be sent again.',
    }),
  ),
  message: nullable(
    Type.String({ description: 'For people: the reason for this state; null if nothing failed.' }),
  ),
};

export const RunDeliveries = Type.Object(
  {
    run_id: Uuid,
    webhook: nullable(Type.String()),
    webhook_status: nullable(WebhookStatus),
    ...deliveryState,
    tries: Type.Array(DeliveryAttempt, {
      description: 'Attempts of the final notification, the oldest first.',
    }),
    intermediate: nullable(DeliveryAttempt),
  },
  { title: 'RunDeliveries' },
);
export type RunDeliveries = Static<typeof RunDeliveries>;

export const ListedDelivery = Type.Object(
  {
    run_id: Uuid,
    url: Type.String({ description: 'Without its query.' }),
    host: nullable(Type.String({ description: 'With the port, unless it is the default port.' })),
    webhook_status: WebhookStatus,
    ...deliveryState,
    tries: Type.Integer({ minimum: 0, description: 'Attempts in this round.' }),
    last_reason: nullable(DeliveryAttemptResult),
    created_at: Type.String({ format: 'date-time', description: 'The creation time of the run.' }),
    updated_at: Time,
  },
  { title: 'ListedDelivery' },
);
export type ListedDelivery = Static<typeof ListedDelivery>;

export const DeliveryPage = Type.Object(
  { deliveries: Type.Array(ListedDelivery), next_cursor: NextCursor },
  { title: 'DeliveryPage' },
);

const Host = Type.String({
  minLength: 1,
  description: 'The host of the webhook, with the port unless it is the default port.',
});

/** In a query, where a list may also be written with commas. */
export const DeliveryQuery = Type.Object({
  status: Type.Optional(Type.Array(WebhookStatus)),
  host: Type.Optional(Host),
  created_after: Type.Optional(TimeOrDay),
  created_before: Type.Optional(TimeOrDay),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const RedeliveryFilter = Type.Object(
  {
    status: optional(wordsOf(WebhookStatus, { default: 'failed' })),
    host: optional(Host),
    created_after: optional(TimeOrDay),
    created_before: optional(TimeOrDay),
  },
  {
    // A misspelt name would leave the filter wider than it was meant to be.
    additionalProperties: false,
    description: 'Required, and unknown members are refused, so that nothing is sent again by mistake.',
  },
);

export const RedeliverRequest = Type.Object(
  {
    filter: RedeliveryFilter,
    cursor: optional(Cursor),
    dry_run: optional(Type.Boolean({ default: false, description: 'Only counts the runs.' })),
  },
  // A misspelt `dry_run` would send for real.
  { title: 'RedeliverRequest', additionalProperties: false },
);

export const RedeliverResponse = Type.Object(
  {
    matched: Type.Integer({ minimum: 0, description: 'Runs of this page.' }),
    requested: Type.Integer({ minimum: 0, description: 'Of these, runs whose notification is sent again.' }),
    next_cursor: NextCursor,
  },
  { title: 'RedeliverResponse' },
);

export const RunRedelivery = Type.Object(
  { run_id: Uuid, webhook_status: WebhookStatus, round: Round },
  { title: 'RunRedelivery' },
);

export const WebhookSecret = Type.Object(
  {
    secret: Type.String({ description: '`whsec_` and base64, as in Standard Webhooks.' }),
    created_at: Time,
    previous: nullable(
      Type.Object(
        { secret: Type.String(), expires_at: Time },
        { description: 'The previous secret, which also signs until `expires_at`.' },
      ),
    ),
  },
  { title: 'WebhookSecret' },
);

export const RotateSecretRequest = Type.Object(
  {
    overlap_s: optional(
      Type.Number({
        minimum: 0,
        maximum: 604_800,
        default: 86_400,
        description: 'Seconds for which the current secret also signs.',
      }),
    ),
  },
  { title: 'RotateSecretRequest' },
);

import { Type, type Static } from 'typebox';
import { DeliveryAttemptPhases, DeliveryAttemptResult } from '../events/delivery-attempt-result.ts';
import { Cursor, NextCursor, PageLimit, Time, TimeOrDay, Uuid, wordsOf } from './fields/values.ts';
import { nullable, optional } from './fields/optional.ts';
import { WebhookStatus } from './runs/run.ts';

const Round = Type.Integer({
  minimum: 1,
  description: 'The first delivery is 1; every redelivery begins another.',
});

/** One HTTP request to a receiver. */
export const DeliveryAttempt = Type.Object(
  {
    webhook_id: Type.String({ description: 'The same in every try of a notification.' }),
    round: Round,
    try: Type.Integer({ minimum: 1, description: 'Within its round.' }),
    url: Type.String({ description: 'Without its query, which may hold a secret.' }),
    started_at: Time,
    phases: DeliveryAttemptPhases,
    reason: DeliveryAttemptResult,
    message: Type.String(),
    status: nullable(Type.Integer({ description: 'Of the answer; null when there was none.' })),
    answer: nullable(Type.String({ description: 'The beginning of what the receiver answered.' })),
  },
  { title: 'DeliveryAttempt' },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

const deliveryState = {
  round: Round,
  state: nullable(
    Type.Enum(['retrying', 'deferred'], {
      description:
        'Null when no further attempt is planned. `deferred`: the circuit breaker of the receiver is open; the delivery waits until the receiver accepts another one.',
    }),
  ),
  next_try_at: nullable(
    Type.String({ format: 'date-time', description: 'Null also for a deferred delivery.' }),
  ),
  message: nullable(Type.String({ description: 'Why it is where it is; null when all is well.' })),
};

export const RunDeliveries = Type.Object(
  {
    run_id: Uuid,
    webhook: nullable(Type.String()),
    webhook_status: nullable(WebhookStatus),
    ...deliveryState,
    tries: Type.Array(DeliveryAttempt, { description: 'Of the final notification, the oldest first.' }),
    intermediate: nullable(DeliveryAttempt),
  },
  { title: 'RunDeliveries' },
);
export type RunDeliveries = Static<typeof RunDeliveries>;

export const ListedDelivery = Type.Object(
  {
    run_id: Uuid,
    url: Type.String({ description: 'Without its query.' }),
    host: nullable(Type.String({ description: "With the port, unless it is the scheme's own." })),
    webhook_status: WebhookStatus,
    ...deliveryState,
    tries: Type.Integer({ minimum: 0, description: 'Of this round.' }),
    last_reason: nullable(DeliveryAttemptResult),
    created_at: Type.String({ format: 'date-time', description: 'Of the run.' }),
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
  description: "Of the webhook, with the port unless it is the scheme's own.",
});

/** In a query, where a list is also written with commas. */
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
    description: 'It has to be there, and no other names in it, so that nothing is sent again by mistake.',
  },
);

export const RedeliverRequest = Type.Object(
  {
    filter: RedeliveryFilter,
    cursor: optional(Cursor),
    dry_run: optional(Type.Boolean({ default: false, description: 'Only counts.' })),
  },
  // A misspelt `dry_run` would send for real.
  { title: 'RedeliverRequest', additionalProperties: false },
);

export const RedeliverResponse = Type.Object(
  {
    matched: Type.Integer({ minimum: 0, description: 'Runs of this page.' }),
    requested: Type.Integer({ minimum: 0, description: 'Those of them that are sent again.' }),
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
    secret: Type.String({ description: '`whsec_` and base64, as Standard Webhooks has it.' }),
    created_at: Time,
    previous: nullable(
      Type.Object(
        { secret: Type.String(), expires_at: Time },
        { description: 'The one before, which signs too until `expires_at`.' },
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
        description: 'Seconds for which the present secret signs too.',
      }),
    ),
  },
  { title: 'RotateSecretRequest' },
);

import { Type, type Static } from 'typebox';
import {
  DeliveryAttemptPhases,
  DeliveryAttemptResult,
  WebhookGivenUpReason,
} from '../events/webhook-event.ts';
import { enumInWords, nullable, optional } from '../schemas.ts';
import { CreatedAt, Cursor, NextCursor, PageLimit, RunUuid, time, TimeOrDay, wordsOf } from './fields.ts';
import { WebhookStatus } from './runs/run-attempt.ts';

const Round = Type.Integer({
  minimum: 1,
  description: 'Its round: 1 for the first delivery; every redelivery begins another one.',
  examples: [1],
});

/** One HTTP request to a receiver. */
export const DeliveryAttempt = Type.Object(
  {
    webhook_id: Type.String({
      description: 'The header `webhook-id`: the same in every attempt of a notification.',
      examples: ['msg_01a21460-ae48-7794-b9bb-ade918a387db'],
    }),
    round: Round,
    try: Type.Integer({
      minimum: 1,
      description: 'The number of the attempt in its round, from 1.',
      examples: [1],
    }),
    url: Type.String({
      description:
        'The address of the receiver, without its query, which may hold a secret. To a key without the scope `admin` it shows the host only.',
      examples: ['https://hooks.example.com/runs'],
    }),
    started_at: time('When it began.'),
    phases: DeliveryAttemptPhases,
    reason: DeliveryAttemptResult,
    message: Type.String({
      description: 'The same for people.',
      examples: ['accepted with status 200'],
    }),
    status: nullable(
      Type.Integer({
        description: 'The HTTP status of the response; null without a response.',
        examples: [200],
      }),
    ),
    answer: nullable(
      Type.String({
        description:
          'The beginning of the response body; null without a response, and from an address that is not public.',
        examples: ['ok'],
      }),
    ),
  },
  { title: 'DeliveryAttempt', description: 'One HTTP request to a receiver.' },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

const deliveryState = {
  round: Round,
  state: nullable(
    enumInWords(
      {
        retrying: 'It is tried again at `next_try_at`.',
        deferred: 'It waits until the receiver accepts notifications again.',
      },
      { description: 'What a delivery waits for that is not settled.' },
    ),
    'Null when no further attempt is planned.',
  ),
  next_try_at: nullable(
    time('When the next attempt is made.'),
    'Null when none is planned, and for a deferred delivery.',
  ),
  given_up_reason: nullable(WebhookGivenUpReason, 'Null unless the delivery failed.'),
  message: nullable(
    Type.String({
      description: 'The reason for this state, for people; null if nothing failed.',
      examples: ['The receiver answered 503.'],
    }),
  ),
};

export const RunDeliveries = Type.Object(
  {
    run_id: RunUuid,
    webhook: nullable(
      Type.String({
        description:
          'The callback URL without its query. To a key without the scope `admin` it shows the host only.',
        examples: ['https://hooks.example.com/[hidden]'],
      }),
      'Null for a run without one.',
    ),
    webhook_status: nullable(
      WebhookStatus,
      'The state of its notifications. Null for a run without a webhook.',
    ),
    ...deliveryState,
    tries: Type.Array(DeliveryAttempt, {
      description: 'Attempts of the final notification, the oldest first.',
    }),
    intermediate: nullable(
      DeliveryAttempt,
      'The latest attempt of an intermediate notification. Null when there was none.',
    ),
  },
  { title: 'RunDeliveries', description: 'What became of the notifications of a run.' },
);
export type RunDeliveries = Static<typeof RunDeliveries>;

const listedResult = DeliveryAttemptResult.description;

export const ListedDelivery = Type.Object(
  {
    run_id: RunUuid,
    url: Type.String({
      description:
        'The callback URL without its query. To a key without the scope `admin` it shows the host only.',
      examples: ['https://hooks.example.com/[hidden]'],
    }),
    host: nullable(
      Type.String({
        description: 'The host of the webhook, with the port unless it is the default port.',
        examples: ['hooks.example.com'],
      }),
      'Null when the URL cannot be read.',
    ),
    webhook_status: WebhookStatus,
    ...deliveryState,
    tries: Type.Integer({
      minimum: 0,
      description: 'The number of attempts in this round.',
      examples: [1],
    }),
    last_reason: nullable(
      { ...DeliveryAttemptResult, description: listedResult },
      'Null when no attempt failed.',
    ),
    created_at: { ...CreatedAt, description: 'When the run was created.' },
    updated_at: time('When this state was stored.'),
  },
  { title: 'ListedDelivery', description: 'The state of the notifications of a run.' },
);
export type ListedDelivery = Static<typeof ListedDelivery>;

export const DeliveryPage = Type.Object(
  {
    deliveries: Type.Array(ListedDelivery, { description: 'Those of the newest runs first.' }),
    next_cursor: NextCursor,
  },
  { title: 'DeliveryPage', description: 'A page of runs with webhooks.' },
);

const Host = Type.String({
  minLength: 1,
  examples: ['hooks.example.com'],
  description: 'The host of the webhook, with the port unless it is the default port.',
});

const After = { ...TimeOrDay, description: 'Runs created at this time or later.' };
const Before = { ...TimeOrDay, description: 'Runs created before this time.' };
const STATUSES = 'Runs whose notifications have one of these states.';

/** In a query, where a list may also be written with commas. */
export const DeliveryQuery = Type.Object({
  status: Type.Optional(Type.Array(WebhookStatus, { description: STATUSES })),
  host: Type.Optional(Host),
  created_after: Type.Optional(After),
  created_before: Type.Optional(Before),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

const RedeliveryFilter = Type.Object(
  {
    status: optional({
      ...wordsOf(WebhookStatus, { default: 'failed' }),
      description: `${STATUSES} By default those that failed.`,
      examples: ['failed'],
    }),
    host: optional(Host),
    created_after: optional(After),
    created_before: optional(Before),
  },
  {
    // A misspelt name would leave the filter wider than it was meant to be.
    additionalProperties: false,
    description:
      'Selects the runs that match every member. It is required, and unknown members are refused, so that nothing is sent again by mistake.',
  },
);

export const RedeliverRequest = Type.Object(
  {
    filter: RedeliveryFilter,
    cursor: optional(Cursor),
    dry_run: optional(
      Type.Boolean({
        default: false,
        description: 'Whether the runs are only counted, and nothing is sent.',
        examples: [true],
      }),
    ),
  },
  // A misspelt `dry_run` would send for real.
  {
    title: 'RedeliverRequest',
    description: 'Which notifications to send again.',
    examples: [{ filter: { status: 'failed' }, dry_run: true }],
    additionalProperties: false,
  },
);

export const RedeliverResponse = Type.Object(
  {
    matched: Type.Integer({
      minimum: 0,
      description: 'The number of runs of this page that match.',
      examples: [40],
    }),
    requested: Type.Integer({
      minimum: 0,
      description: 'Of these, the number of runs whose notification is sent again.',
      examples: [38],
    }),
    next_cursor: NextCursor,
  },
  { title: 'RedeliverResponse', description: 'What became of the runs of one page.' },
);

export const RunRedelivery = Type.Object(
  { run_id: RunUuid, webhook_status: WebhookStatus, round: Round },
  { title: 'RunRedelivery', description: 'The final notification is sent again.' },
);

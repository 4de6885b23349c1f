/** What docs/events.md says of webhooks beside their facts: what a receiver gets, and what the notifier keeps. */
import {
  DeliveryState,
  deliveryStateSubject,
  DeliveryAttempt,
  deliveryAttemptSubject,
} from '@runledger/contracts/deliveries/delivery-attempts';
import { partitionOf, PARTITIONS } from '@runledger/contracts/deliveries/partition';
import {
  breakerTimerSubject,
  OpenBreaker,
  PendingDelivery,
  partitionPositionSubject,
  PartitionPosition,
  timerSubject,
} from '@runledger/contracts/deliveries/timers';
import { orgId, runId } from '@runledger/contracts/ids';
import { WebhookPayload, WEBHOOK_PAYLOAD_VERSION } from '@runledger/contracts/deliveries/webhook-payload';
import { code, memberTable, type ObjectSchema } from './schema-tables.ts';

export const payloadPart = (): string[] => [
  '## The webhook payload',
  '',
  `Version ${WEBHOOK_PAYLOAD_VERSION}, apart from the versions of the events. Members may be added; none is taken away, or changes its`,
  'meaning, within a version. It is the run as it is when it is sent: of two notifications the one with the higher `sequence` is newer.',
  '',
  ...memberTable('member', WebhookPayload),
  '',
  'It is sent as `POST` with these headers, signed as',
  '[Standard Webhooks](https://www.standardwebhooks.com) says.',
  '',
  '| header | is |',
  '|---|---|',
  '| `content-type` | `application/json` |',
  '| `user-agent` | `Runledger` |',
  '| `webhook-id` | the same on every retry and redelivery of a final notification; an intermediate one has its own |',
  '| `webhook-timestamp` | when this try was made, in whole seconds since 1970 |',
  '| `webhook-signature` | `v1,` and base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, one for each valid secret, between spaces |',
  `| \`runledger-webhook-version\` | ${code(WEBHOOK_PAYLOAD_VERSION)} |`,
  '',
];

interface Kept {
  readonly stream: 'TIMERS' | 'DELIVERY_ATTEMPTS';
  /** `<…>` stands for any one token. */
  readonly subject: string;
  readonly holds: string;
  readonly schema: ObjectSchema;
  readonly readers: string;
  /** A subject as the code makes it; a test holds it to `subject`. */
  readonly example: string;
}

const key = {
  org_id: orgId('01920000-0000-7000-8000-00000000000a'),
  run_id: runId('01920000-0000-7000-8000-00000000000b'),
};
const origin = 'https://example.com';
const delivery: PendingDelivery = {
  version: 1,
  ...key,
  origin,
  round: 1,
  tries: 1,
  due_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-01-07T00:00:00.000Z',
};

const pending = (state: 'wait' | 'due' | 'deferred', holds: string): Kept => ({
  stream: 'TIMERS',
  subject: `timers.<share>.<origin>.<org_id>.<run_id>.${state}`,
  holds,
  schema: PendingDelivery,
  readers: 'notifier',
  example: timerSubject(delivery, state),
});

const opening = (state: 'wait' | 'due', holds: string): Kept => ({
  stream: 'TIMERS',
  subject: `timers.<share>.<origin>.<org_id or all>.breaker.${state}`,
  holds,
  schema: OpenBreaker,
  readers: 'notifier',
  example: breakerTimerSubject({ origin, org_id: null }, state),
});

const record = (subject: string, holds: string, schema: ObjectSchema, example: string): Kept => ({
  stream: 'DELIVERY_ATTEMPTS',
  subject: `delivery_attempts.<org_id>.<run_id>.${subject}`,
  holds,
  schema,
  readers: 'gateway',
  example,
});

export const DELIVERY_RECORDS: readonly Kept[] = [
  pending('wait', 'a delivery that waits for its next try: a schedule of the broker'),
  pending('due', 'one whose time has come'),
  pending('deferred', "one that is set aside until its receiver's breaker lets it through"),
  opening('wait', 'a breaker that is open, for one organisation or for all'),
  opening('due', 'one whose time is over'),
  {
    stream: 'TIMERS',
    subject: 'timers.<share>.-.-.-.position',
    holds: 'how far a notifier has come in a share',
    schema: PartitionPosition,
    readers: 'notifier',
    example: partitionPositionSubject(partitionOf(origin)),
  },
  record(
    'attempt.<round>.<try>',
    'a try of a final notification',
    DeliveryAttempt,
    deliveryAttemptSubject(key, { notification: 'final', round: 1, try: 1 }),
  ),
  record(
    'intermediate',
    'the latest try of an intermediate notification',
    DeliveryAttempt,
    deliveryAttemptSubject(key, { notification: 'intermediate', round: 1, try: 1 }),
  ),
  record('state', 'where a delivery stands that is not settled', DeliveryState, deliveryStateSubject(key)),
];

export const deliveryRecordsPart = (): string[] => [
  '## What is kept of deliveries',
  '',
  'No facts, and not fenced: each subject holds its latest message. The notifier alone writes them. `<share>` is a number from',
  `0 to ${PARTITIONS - 1} that follows from the origin; \`<origin>\` is scheme, host and port, with \`%XX\` for what a subject cannot hold.`,
  '',
  '| stream | subject | holds | members | read by |',
  '|---|---|---|---|---|',
  ...DELIVERY_RECORDS.map(
    ({ stream, subject, holds, schema, readers }) =>
      `| ${stream} | ${code(subject)} | ${holds} | ${Object.keys(schema.properties)
        .map(code)
        .join(', ')} | ${readers} |`,
  ),
  '',
];

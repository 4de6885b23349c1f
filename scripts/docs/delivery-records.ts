/** The part of docs/events.md about webhooks besides their facts: the payload for receivers, and the records of the notifier. */
import {
  DeliveryState,
  deliveryStateSubject,
  DeliveryAttempt,
  deliveryAttemptSubject,
} from '@runledger/contracts/deliveries/delivery-attempts';
import {
  partitionOf,
  PARTITIONS,
  breakerTimerSubject,
  OpenBreaker,
  PendingDelivery,
  partitionPositionSubject,
  PartitionPosition,
  timerSubject,
} from '@runledger/contracts/deliveries/timers';
import { orgId, runId } from '@runledger/contracts/ids';
import { WEBHOOK_HEADERS } from '@runledger/contracts/deliveries/webhook-headers';
import { WebhookPayload, WEBHOOK_PAYLOAD_VERSION } from '@runledger/contracts/deliveries/webhook-payload';
import { servicesThat, type MessageDescription } from './message-descriptions.ts';
import { code, memberList } from './schema-lists.ts';

export const payloadPart = (): string[] => [
  '## The webhook payload',
  '',
  `Version ${WEBHOOK_PAYLOAD_VERSION}, independent of the versions of the events. Within a version, members may be added, but no member is removed or`,
  'changes its meaning. It is the run at the time of sending. Of two notifications, the one with the higher `sequence` is newer.',
  '',
  ...memberList('Members', WebhookPayload),
  '',
  'It is sent as `POST` with these headers, signed according to',
  '[Standard Webhooks](https://www.standardwebhooks.com).',
  '',
  '| header | is |',
  '|---|---|',
  ...Object.entries(WEBHOOK_HEADERS).map(([name, { is }]) => `| \`${name}\` | ${is} |`),
  '',
];

interface DeliveryRecord extends MessageDescription {
  /** A subject that the code makes. A test compares it with `subject`. */
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
  sequence: 7,
};

const inTimers = (
  name: string,
  about: string,
  { subject, schema, example }: Pick<DeliveryRecord, 'subject' | 'schema' | 'example'>,
): DeliveryRecord => {
  const users = servicesThat(({ timers }) => timers);
  return { name, stream: 'TIMERS', subject, about, schema, writers: users, readers: users, example };
};

const pending = (state: 'wait' | 'due' | 'deferred', about: string): DeliveryRecord =>
  inTimers('PendingDelivery', about, {
    subject: `timers.<partition>.<origin>.<org_id>.<run_id>.${state}`,
    schema: PendingDelivery,
    example: timerSubject(delivery, state),
  });

const opening = (state: 'wait' | 'due', about: string): DeliveryRecord =>
  inTimers('OpenBreaker', about, {
    subject: `timers.<partition>.<origin>.<org_id or all>.breaker.${state}`,
    schema: OpenBreaker,
    example: breakerTimerSubject({ origin, org_id: null }, state),
  });

const ofRun = (
  name: string,
  about: string,
  { subject, schema, example }: Pick<DeliveryRecord, 'subject' | 'schema' | 'example'>,
): DeliveryRecord => ({
  name,
  stream: 'DELIVERY_ATTEMPTS',
  subject: `delivery_attempts.<org_id>.<run_id>.${subject}`,
  about,
  schema,
  writers: servicesThat(({ deliveryAttempts }) => deliveryAttempts === 'writes'),
  readers: servicesThat(({ deliveryAttempts }) => deliveryAttempts === 'reads'),
  example,
});

export const DELIVERY_RECORDS: readonly DeliveryRecord[] = [
  pending('wait', 'a delivery that waits for its next attempt: a schedule of the broker'),
  pending('due', 'a delivery whose time has come'),
  pending('deferred', "a delivery that is deferred while its receiver's breaker is open"),
  opening('wait', 'a breaker that is open, for one organisation or for all'),
  opening('due', 'a breaker that may be probed now'),
  inTimers('PartitionPosition', 'the position of a partition', {
    subject: 'timers.<partition>.-.-.-.position',
    schema: PartitionPosition,
    example: partitionPositionSubject(partitionOf(origin)),
  }),
  ofRun('DeliveryAttempt', 'a delivery attempt of a final notification', {
    subject: 'attempt.<round>.<try>',
    schema: DeliveryAttempt,
    example: deliveryAttemptSubject(key, { notification: 'final', round: 1, try: 1 }),
  }),
  ofRun('DeliveryAttempt', 'the latest delivery attempt of an intermediate notification', {
    subject: 'intermediate',
    schema: DeliveryAttempt,
    example: deliveryAttemptSubject(key, { notification: 'intermediate', round: 1, try: 1 }),
  }),
  ofRun('DeliveryState', 'the state of a delivery that is not settled', {
    subject: 'state',
    schema: DeliveryState,
    example: deliveryStateSubject(key),
  }),
];

export const deliveryRecordsPart = (): string[] => [
  '## Records of deliveries',
  '',
  'These are not facts and not fenced: each subject holds its latest message. Only the notifier writes them. `<partition>` is a',
  `number from 0 to ${PARTITIONS - 1}, derived from the origin. \`<origin>\` is scheme, host and port, with \`%XX\` for characters that a subject cannot hold.`,
  '',
  ...DELIVERY_RECORDS.map(
    ({ stream, subject, about, schema, readers }) =>
      `- ${code(subject)} in ${stream}: ${about}. Read by ${readers.join(', ')}. Members: ${Object.keys(
        schema.properties,
      )
        .map(code)
        .join(', ')}.`,
  ),
  '',
];

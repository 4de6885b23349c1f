/** docs/events.md from the descriptions of messages. */
import { auditPart } from './audit-records.ts';
import { deliveryRecordsPart, payloadPart } from './delivery-records.ts';
import {
  ATTEMPT_MESSAGES,
  FLEET_MESSAGES,
  RUN_MESSAGES,
  versionOf,
  WEBHOOK_MESSAGES,
  type MessageDescription,
} from './message-descriptions.ts';
import { code, dataList, memberList, type ObjectSchema } from './schema-lists.ts';

const names = (services: readonly string[]): string => services.join(', ') || 'nobody yet';

/** The members of `data` of an event that has it: the others are in the envelope. */
const table = ({ properties, ...schema }: ObjectSchema): string[] => {
  const data = properties['data'] as ObjectSchema | undefined;
  return data ? dataList(data) : memberList('Members', { ...schema, properties });
};

const section = (message: MessageDescription): string => {
  const version = versionOf(message);
  return [
    `### ${message.name}`,
    '',
    `${version === undefined ? 'Subject' : `Version ${version}, subject`} ${code(message.subject)}.`,
    `Written by ${names(message.writers)}; read by ${names(message.readers)}.`,
    '',
    ...table(message.schema),
    '',
  ].join('\n');
};

export const eventsPage = (): string =>
  [
    '# Events',
    '',
    'Generated from the code by `npm run docs`. A test compares it with the code. [asyncapi.json](asyncapi.json) has the same as an',
    'AsyncAPI document, with the schemas, for programs that read the log: types can be generated from it.',
    '',
    'Every event is JSON: `{type, version, event_id, run_id, org_id, time, writer: {service, instance}, attempt, executor_id,',
    'correlation_id, causation_id, traceparent, data}`. Readers ignore members that they do not know. A version or a',
    'type that they do not know stops them. `event_id` is also the message id (`Nats-Msg-Id`). A fact of a run also has\n`previous_sha256`: the SHA-256, in base64url, of the bytes of the message that its fence names; the first one has none.',
    '',
    '## Run events',
    '',
    'The lifecycle of a run, fenced on `runs.<org_id>.<run_id>.life.>`.',
    '',
    ...RUN_MESSAGES.map(section),
    '## Webhook events',
    '',
    "The outcome of a run's notifications: a few facts, not one for each delivery attempt, fenced on",
    '`runs.<org_id>.<run_id>.webhook.>`, so that they never block the lifecycle. They have `round` instead of `attempt` and',
    '`executor_id`: 1 for the first delivery of the final notification, and one more for each requested redelivery.',
    '',
    ...WEBHOOK_MESSAGES.map(section),
    '## Fleet events',
    '',
    'Facts about executors, and what operators request of them, in the stream FLEET. They are about no run, so they have fewer members.',
    'They are not fenced, except that the registration of an executor is refused when a term began that it does not know.',
    '',
    ...FLEET_MESSAGES.map(section),
    '## Progress and logs of attempts',
    '',
    'These are not events and not fenced. ACTIVITY keeps the latest progress, and LOGS what attempts write until it is kept with the run.',
    '',
    ...ATTEMPT_MESSAGES.map(section),
    ...payloadPart(),
    ...deliveryRecordsPart(),
    ...auditPart(),
  ].join('\n');

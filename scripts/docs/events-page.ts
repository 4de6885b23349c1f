/** docs/events.md from the schemas and from the contract.ts of every service. */
import {
  RUN_EVENTS,
  RUN_EVENT_TYPES,
  currentVersion,
  type RunEventType,
} from '@runledger/contracts/events/run-event';
import type { ServiceContract } from '@runledger/contracts/access/service-contract';
import {
  WEBHOOK_EVENTS,
  WEBHOOK_EVENT_TYPES,
  type WebhookEventType,
} from '@runledger/contracts/events/webhook-event';
import { contract as gateway } from '@runledger/gateway/contract';
import { contract as gpuExecutor } from '@runledger/gpu-executor/contract';
import { contract as notifier } from '@runledger/notifier/contract';
import { contract as scheduler } from '@runledger/scheduler/contract';
import { auditPart } from './audit-records.ts';
import { dataTable } from './schema-tables.ts';
import { deliveryRecordsPart, payloadPart } from './delivery-records.ts';

export const CONTRACTS: readonly ServiceContract[] = [gateway, scheduler, gpuExecutor, notifier];

const names = (services: readonly ServiceContract[]): string =>
  services.map(({ service }) => service).join(', ') || 'nobody yet';

const runSection = (type: RunEventType): string => {
  const { fact, writer, schema } = RUN_EVENTS[type];
  return [
    `### ${type}`,
    '',
    `Version ${currentVersion(type)}, subject \`runs.<org_id>.<run_id>.life.${fact}.${writer}.<attempt>.<executor_id or none>\`.`,
    `Written by ${names(CONTRACTS.filter(({ writes }) => writes.runs.includes(type)))}; ` +
      `read by ${names(CONTRACTS.filter(({ reads }) => reads.runs.includes(type)))}.`,
    '',
    ...dataTable(schema.properties.data),
  ].join('\n');
};

const webhookSection = (type: WebhookEventType): string => {
  const { fact, writer, schema } = WEBHOOK_EVENTS[type];
  return [
    `### ${type}`,
    '',
    `Version ${schema.properties.version.const}, subject \`runs.<org_id>.<run_id>.webhook.${fact}.${writer}.<round>\`.`,
    `Written by ${names(CONTRACTS.filter(({ writes }) => writes.webhooks.includes(type)))}; ` +
      `read by ${names(CONTRACTS.filter(({ reads }) => reads.webhooks.includes(type)))}.`,
    '',
    ...dataTable(schema.properties.data),
  ].join('\n');
};

export const eventsPage = (): string =>
  [
    '# Events',
    '',
    'Generated from the code by `npm run docs`. A test compares it with the code.',
    '',
    'Every event is JSON: `{type, version, event_id, run_id, org_id, time, writer: {service, instance}, attempt, executor_id,',
    'correlation_id, causation_id, traceparent, data}`. Readers ignore members that they do not know, and types that they do not',
    'know; a newer version of a type that they know stops them. `event_id` is also the message id (`Nats-Msg-Id`).',
    '',
    '## Run events',
    '',
    'The lifecycle of a run, fenced on `runs.<org_id>.<run_id>.life.>`.',
    '',
    ...RUN_EVENT_TYPES.map((type) => `${runSection(type)}\n`),
    '## Webhook events',
    '',
    "The outcome of a run's notifications: a few facts, not one for each delivery attempt, fenced on",
    '`runs.<org_id>.<run_id>.webhook.>`, so that they never block the lifecycle. They have `round` instead of `attempt` and',
    '`executor_id`: 1 for the first delivery of the final notification, and one more for each requested redelivery.',
    '',
    ...WEBHOOK_EVENT_TYPES.map((type) => `${webhookSection(type)}\n`),
    ...payloadPart(),
    ...deliveryRecordsPart(),
    ...auditPart(),
  ].join('\n');

/**
 * The messages of the log, each with its subject, its writers and its readers, from the schemas and the contract.ts of every service.
 * docs/events.md and docs/asyncapi.json are made from them.
 */
import type { ServiceContract } from '@runledger/contracts/service-contract';
import { ProgressReport } from '@runledger/contracts/events/progress';
import { FleetEvent, fleetFactOf } from '@runledger/contracts/events/fleet-event';
import { RUN_EVENTS, RUN_EVENT_TYPES } from '@runledger/contracts/events/run-event';
import { WEBHOOK_EVENTS, WEBHOOK_EVENT_TYPES } from '@runledger/contracts/events/webhook-event';
import { LogChunk } from '@runledger/contracts/run-logs';
import { contract as gateway } from '@runledger/gateway/contract';
import { contract as gpuExecutor } from '@runledger/gpu-executor/contract';
import { contract as notifier } from '@runledger/notifier/contract';
import { contract as scheduler } from '@runledger/scheduler/contract';
import type { ObjectSchema } from './schema-lists.ts';

export const CONTRACTS: readonly ServiceContract[] = [gateway, scheduler, gpuExecutor, notifier];

export interface MessageDescription {
  /** The type of an event; the name of the schema of any other message. */
  readonly name: string;
  readonly stream: string;
  /** `<…>` stands for what differs between messages. */
  readonly subject: string;
  /** What the subject holds, as part of a sentence. */
  readonly about: string;
  readonly schema: ObjectSchema;
  readonly writers: readonly string[];
  readonly readers: readonly string[];
}

/** Undefined for progress and logs, which have no version. */
export const versionOf = ({ schema }: MessageDescription): number | undefined => {
  const version: { readonly const?: number } | undefined = schema.properties['version'];
  return version?.const;
};

/** The names of the services whose contract says so. */
export const servicesThat = (does: (contract: ServiceContract) => boolean): string[] =>
  CONTRACTS.filter(does).map(({ service }) => service);

export const RUN_MESSAGES: readonly MessageDescription[] = RUN_EVENT_TYPES.map((name) => {
  const { fact, writer, schema } = RUN_EVENTS[name];
  return {
    name,
    stream: 'RUNS',
    subject: `runs.<org_id>.<run_id>.life.${fact}.${writer}.<attempt>.<executor_id or none>`,
    about: 'the lifecycle of a run, fenced on `runs.<org_id>.<run_id>.life.>`',
    schema,
    writers: servicesThat(({ writes }) => writes.runs.includes(name)),
    readers: servicesThat(({ reads }) => reads.runs.includes(name)),
  };
});

export const WEBHOOK_MESSAGES: readonly MessageDescription[] = WEBHOOK_EVENT_TYPES.map((name) => {
  const { fact, writer, schema } = WEBHOOK_EVENTS[name];
  return {
    name,
    stream: 'RUNS',
    subject: `runs.<org_id>.<run_id>.webhook.${fact}.${writer}.<round>`,
    about: "the outcome of a run's notifications, fenced on `runs.<org_id>.<run_id>.webhook.>`",
    schema,
    writers: servicesThat(({ writes }) => writes.webhooks.includes(name)),
    readers: servicesThat(({ reads }) => reads.webhooks.includes(name)),
  };
});

export const FLEET_MESSAGES: readonly MessageDescription[] = FleetEvent.anyOf.map((schema) => {
  const name = schema.properties.type.const;
  const isRequest = Object.hasOwn(schema.properties, 'executor_name');
  return {
    name,
    stream: 'FLEET',
    subject: `fleet.${isRequest ? '<executor_name>.all' : '<executor_id>'}.${fleetFactOf(name)}`,
    about: isRequest ? 'what an operator requests of all executors of a name' : 'a fact about one executor',
    schema,
    writers: servicesThat(({ writes }) => writes.fleet.includes(name)),
    readers: servicesThat(({ reads }) => reads.fleet.includes(name)),
  };
});

export const ATTEMPT_MESSAGES: readonly MessageDescription[] = [
  {
    name: 'ProgressReport',
    stream: 'ACTIVITY',
    subject: 'activity.<org_id>.<run_id>.<attempt>.<executor_id>.progress',
    about: 'the progress of an attempt, which is not fenced: the latest message wins',
    schema: ProgressReport,
    writers: servicesThat(({ writes }) => writes.activity),
    readers: servicesThat(({ reads }) => reads.activity),
  },
  {
    name: 'LogChunk',
    stream: 'LOGS',
    subject: 'logs.<org_id>.<run_id>.<attempt>.<executor_id>.<slot>',
    about: 'successive lines that an attempt wrote, which are not fenced',
    schema: LogChunk,
    writers: servicesThat(({ logs }) => logs === 'writes'),
    readers: servicesThat(({ logs }) => logs === 'reads'),
  },
];

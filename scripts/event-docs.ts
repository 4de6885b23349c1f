/** docs/events.md from the schemas and from the contract.ts of every service. */
import {
  RUN_EVENTS,
  RUN_EVENT_TYPES,
  currentVersion,
  type RunEventType,
} from '@runledger/contracts/run-event';
import type { ServiceContract } from '@runledger/contracts/service-contract';
import { contract as gateway } from '@runledger/gateway/contract';
import { contract as gpuExecutor } from '@runledger/gpu-executor/contract';
import { contract as scheduler } from '@runledger/scheduler/contract';

export const CONTRACTS: readonly ServiceContract[] = [gateway, scheduler, gpuExecutor];

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const names = (services: readonly ServiceContract[]): string =>
  services.map(({ service }) => service).join(', ') || 'nobody yet';

const code = (text: unknown): string => `\`${String(text)}\``;

const describe = (schema: Schema): string => {
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) return schema.enum.map(code).join(', ');
  if (schema.anyOf) return schema.anyOf.map(describe).join(' or ');
  if (schema.type === 'array') return `list of ${schema.items ? describe(schema.items) : 'anything'}`;
  if (schema.patternProperties)
    return `map to ${Object.values(schema.patternProperties).map(describe).join(' or ')}`;
  if (schema.properties) return `{${Object.keys(schema.properties).join(', ')}}`;
  const bounds = [
    schema.exclusiveMinimum === undefined ? '' : `> ${schema.exclusiveMinimum}`,
    schema.minimum === undefined ? '' : `>= ${schema.minimum}`,
    schema.maximum === undefined ? '' : `<= ${schema.maximum}`,
  ].filter((bound) => bound !== '');
  return [schema.format ?? schema.type ?? 'JSON', ...bounds].join(' ');
};

const section = (type: RunEventType): string => {
  const { fact, writer, schema } = RUN_EVENTS[type];
  const data = schema.properties.data as Schema;
  const rows = Object.entries(data.properties ?? {}).map(
    ([name, member]) =>
      `| ${code(name)} | ${describe(member)} | ${data.required?.includes(name) ? '' : 'optional'} |`,
  );
  const table =
    rows.length > 0
      ? ['', '| member of `data` | is | |', '|---|---|---|', ...rows]
      : ['', '`data` is empty.'];
  return [
    `## ${type}`,
    '',
    `Version ${currentVersion(type)}, subject \`runs.<org_id>.<run_id>.life.${fact}.${writer}.<attempt>.<executor_id or none>\`.`,
    `Written by ${names(CONTRACTS.filter(({ writes }) => writes.runs.includes(type)))}; ` +
      `read by ${names(CONTRACTS.filter(({ reads }) => reads.runs.includes(type)))}.`,
    ...table,
  ].join('\n');
};

export const eventsPage = (): string =>
  [
    '# Events',
    '',
    'Made from the code by `npm run docs`; a test holds the two together.',
    '',
    'Every event is JSON: `{type, version, event_id, run_id, org_id, time, writer: {service, instance}, attempt, executor_id,',
    'correlation_id, causation_id, traceparent, data}`. Readers ignore members that they do not know, and types that they do not',
    'know; a newer version of a type that they know stops them. `event_id` is also the message id (`Nats-Msg-Id`).',
    '',
    ...RUN_EVENT_TYPES.map((type) => `${section(type)}\n`),
  ].join('\n');

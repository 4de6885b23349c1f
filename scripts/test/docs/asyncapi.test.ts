import specs from '@asyncapi/specs';
import { auditSubject } from '@runledger/contracts/audit-record';
import { executorId, orgId, runId } from '@runledger/contracts/ids';
import { logSubject } from '@runledger/contracts/run-logs';
import { progressSubject } from '@runledger/contracts/events/progress';
import { fleetSubjectOf, parseFleetEvent } from '@runledger/contracts/events/fleet-event';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { asyncApiDocument } from '../../docs/asyncapi-document.ts';
import type { Json } from '../../docs/asyncapi-schemas.ts';
import { GOLDEN_EVENTS, type GoldenEvent } from '../../docs/golden-events.ts';
import { CONTRACTS } from '../../docs/message-descriptions.ts';

interface Channel {
  readonly address: string;
  readonly parameters: Json;
  readonly messages: Json;
}

interface Operation {
  readonly action: string;
  readonly tags: readonly { readonly name: string }[];
  readonly messages: readonly { readonly $ref: string }[];
}

interface Document extends Json {
  readonly channels: Readonly<Record<string, Channel>>;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly components: Readonly<Record<string, Json>>;
}

// As a reader of the file has it.
const document = JSON.parse(JSON.stringify(asyncApiDocument())) as Document;

/** Formats are checked where the schemas are defined. */
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(document, 'asyncapi');
const errorsOf = (type: string, payload: unknown): unknown => {
  const validate = ajv.compile({ $ref: `asyncapi#/components/schemas/${type}` });
  return validate(payload) ? [] : validate.errors;
};

const referencesIn = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string' ? [member] : referencesIn(member),
  );
};

const at = (pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, name) => (value as Json | undefined)?.[name], document);

/** Whether a channel has this subject: a parameter may stand for several tokens. */
const isIn = ({ address }: Channel, subject: string): boolean =>
  new RegExp(`^${address.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '.+')}$`).test(subject);

const channelsOf = (type: string): Channel[] =>
  Object.values(document.channels).filter(({ messages }) => Object.hasOwn(messages, type));

/** The fixtures of the fleet have no subjects. */
const subjectOf = ({ subject, event }: GoldenEvent): string => {
  if (subject !== undefined) return subject;
  const parsed = parseFleetEvent(event);
  if (parsed.kind !== 'event') throw new TypeError(`${event.type} is no event of the fleet`);
  return fleetSubjectOf(parsed.event);
};

const ATTEMPT = {
  org_id: orgId('01920000-0000-7000-8000-00000000000a'),
  run_id: runId('01920000-0000-7000-8000-00000000000b'),
  attempt: 1,
  executor_id: executorId('box.0a1b2c3d4e5f'),
};

describe('the AsyncAPI document', () => {
  it('conforms to the official schema of AsyncAPI 3.0', () => {
    const schema: object = specs.schemasWithoutId['3.0.0'];
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    expect([validate(document), validate.errors]).toEqual([true, null]);
  });

  it('contains all that it refers to, and no other component', () => {
    const references = referencesIn(document);
    expect(references.length).toBeGreaterThan(100);
    expect(references.filter((reference) => at(reference.slice(1)) === undefined)).toEqual([]);
    const components = Object.entries(document.components).flatMap(([kind, members]) =>
      Object.keys(members).map((name) => `#/components/${kind}/${name}`),
    );
    expect(components.filter((component) => !references.includes(component))).toEqual([]);
  });

  it.each(Object.entries(document.channels))('describes the parameters of %s', (_name, channel) => {
    const named = [...channel.address.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(channel.parameters)).toEqual(named);
  });

  it.each(CONTRACTS)('has an operation for every event that $service writes or reads', (contract) => {
    const typesOf = (action: string): string[] =>
      Object.values(document.operations)
        .filter((operation) => operation.action === action && operation.tags[0]?.name === contract.service)
        .flatMap(({ messages }) => messages.map(({ $ref }) => $ref.slice($ref.lastIndexOf('/') + 1)));
    const { writes, reads } = contract;
    expect(typesOf('send')).toEqual(
      expect.arrayContaining([...writes.runs, ...writes.webhooks, ...writes.fleet]),
    );
    expect(typesOf('receive')).toEqual(
      expect.arrayContaining([...reads.runs, ...reads.webhooks, ...reads.fleet]),
    );
  });
});

describe.each(GOLDEN_EVENTS)('the golden event $name', (golden) => {
  const { event } = golden;

  it('is accepted by its schema, also with members of a later release', () => {
    expect(errorsOf(event.type, event)).toEqual([]);
    expect(errorsOf(event.type, { ...event, mood: 'fine' })).toEqual([]);
  });

  it('is refused by its schema as another version', () => {
    expect(errorsOf(event.type, { ...event, version: event.version + 1 })).not.toEqual([]);
  });

  it('is in the only channel of its type', () => {
    expect(channelsOf(event.type).map((channel) => isIn(channel, subjectOf(golden)))).toEqual([true]);
  });
});

describe('a message that is no event', () => {
  it.each([
    ['ProgressReport', progressSubject(ATTEMPT, ATTEMPT.attempt, ATTEMPT.executor_id)],
    ['LogChunk', logSubject(ATTEMPT, 3)],
    ['AuditRecord', auditSubject(null, 'work')],
  ])('%s is in the only channel of its kind: %s', (name, subject) => {
    expect(channelsOf(name).map((channel) => isIn(channel, subject))).toEqual([true]);
  });
});

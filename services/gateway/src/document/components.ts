import type { TSchema } from 'typebox';
import { HTTPValidationError, Refusal } from '@runledger/contracts/http/problem';
import { codesOfOperations } from '@runledger/contracts/http/refusal-codes';
import { DOCUMENTED_WEBHOOK_HEADERS } from '@runledger/contracts/deliveries/webhook-headers';
import { WebhookPayload } from '@runledger/contracts/deliveries/webhook-payload';
import { isNode } from '../door/compiled.ts';
import type { Operation } from '../door/operation.ts';
import { RESPONSES, type DescribedRefusals } from '../door/refusal.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Collects the schemas that have a name, so that the document holds each of them once. */
export interface Components {
  /** The schema as the document has it: a reference, if it has a name. */
  readonly of: (schema: TSchema) => JsonSchema;
  readonly schemas: () => Readonly<Record<string, JsonSchema>>;
}

/** Keywords that only our own checks understand. */
const OURS: ReadonlySet<string> = new Set(['x-refusal']);

/** A branch that is a check of ours is for numbers that no double holds: for others they are numbers, as another branch says. */
const isDescribed = (branch: unknown): boolean => !(isNode(branch) && 'x-exact-number' in branch);

/** Our own formats, in terms of standard ones. */
const FORMATS: Readonly<Record<string, JsonSchema>> = {
  'time-with-offset': { format: 'date-time' },
  'time-or-day': {
    anyOf: [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date' },
    ],
  },
  'webhook-url': { format: 'uri' },
};

/** A schema's `title` is its name. @throws TypeError for two schemas with one name */
export const components = (): Components => {
  const named = new Map<string, { readonly source: string; written: JsonSchema }>();

  const write = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(write);
    if (!isNode(value)) return value;
    const name = value['title'];
    return typeof name === 'string' ? reference(name, value) : members(withWords(value));
  };
  const members = (schema: JsonSchema): JsonSchema =>
    Object.fromEntries(
      Object.entries(withType(schema)).flatMap(([name, member]) => {
        if (OURS.has(name)) return [];
        const known = name === 'format' && typeof member === 'string' ? FORMATS[member] : undefined;
        if (known) return Object.entries(known);
        // Names of properties are not keywords: one may be `title`.
        if (name === 'properties' && isNode(member)) return [[name, properties(member)]];
        if (name === 'anyOf' && Array.isArray(member)) return [[name, write(member.filter(isDescribed))]];
        return [[name, VALUES.has(name) ? member : write(member)]];
      }),
    );
  const properties = (schemas: JsonSchema): JsonSchema =>
    Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, write(schema)]));
  const reference = (name: string, schema: JsonSchema): JsonSchema => {
    // The default of an omitted member belongs to the place where the schema is used.
    const { default: preset, ...definition } = schema;
    const source = JSON.stringify(definition);
    const known = named.get(name);
    if (known && known.source !== source) throw new TypeError(`Two schemas are called ${name}. Rename one.`);
    if (!known) {
      const entry = { source, written: {} };
      named.set(name, entry);
      entry.written = members(definition);
    }
    const $ref = `#/components/schemas/${name}`;
    return preset === undefined ? { $ref } : { $ref, default: preset };
  };
  return {
    of: (schema) => {
      const written = write(schema);
      return isNode(written) ? written : {};
    },
    schemas: () =>
      Object.fromEntries(
        [...named]
          .map(([name, { written }]) => [name, written] as const)
          .toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ),
  };
};

/** What people read of a member, which may also be null, belongs to the member: it is not the words of one of its two branches. */
const withWords = (schema: JsonSchema): JsonSchema => {
  const branches = schema['anyOf'];
  if (!Array.isArray(branches) || branches.length !== 2) return schema;
  const [meant, other]: unknown[] = branches;
  // A schema with a name has its words where it is defined.
  if (!isNode(meant) || !isNode(other) || other['type'] !== 'null' || 'title' in meant) return schema;
  const { description, examples, ...rest } = meant;
  const sentences = [description, schema['description']].filter((text) => typeof text === 'string');
  return {
    ...schema,
    anyOf: [rest, other],
    ...(sentences.length === 0 ? {} : { description: sentences.join(SEPARATORS[endsInList(description)]) }),
    ...(examples === undefined ? {} : { examples }),
  };
};

/** A sentence after a list would belong to its last item. */
const SEPARATORS = { list: '\n\n', sentence: ' ' };
const endsInList = (description: unknown): keyof typeof SEPARATORS =>
  typeof description === 'string' && description.includes('\n- ') ? 'list' : 'sentence';

/** Generators of typed clients need the type of the values of an enum. */
const withType = (schema: JsonSchema): JsonSchema => {
  const words = schema['enum'];
  return Array.isArray(words) && words.every((word) => typeof word === 'string')
    ? { type: 'string', ...schema }
    : schema;
};

/** Keywords whose values are not schemas. */
const VALUES: ReadonlySet<string> = new Set(['default', 'examples', 'enum', 'const', 'required']);

/** The refusals of a status as a component of the document. */
export interface RefusalComponent extends DescribedRefusals {
  readonly status: number;
  readonly body: TSchema;
}

const sentenceOf = (codes: readonly string[]): string => {
  const all = codes.map((code) => `\`${code}\``).join(', ');
  return codes.length === 1 ? `Its code is ${all}.` : `Its code is one of ${all}.`;
};

/** In the order of the statuses. */
export const REFUSAL_COMPONENTS: readonly RefusalComponent[] = Object.entries<DescribedRefusals>(
  RESPONSES,
).map(([text, described]) => {
  const status = Number(text);
  return {
    ...described,
    status,
    body: status === 422 ? HTTPValidationError : Refusal,
    description: `${described.description}\n\n${sentenceOf(codesOfOperations(status))}`,
  };
});

/** The refusals with which an operation can answer. */
export const refusalsOf = ({ request, rawBody, refusals = [] }: Operation): RefusalComponent[] => {
  const hasBody = request.body !== undefined || rawBody !== undefined;
  const listed: readonly number[] = refusals;
  const applies: Record<DescribedRefusals['of'], boolean> = {
    all: true,
    with_body: hasBody,
    with_raw_body: rawBody !== undefined,
    listed: false,
  };
  return REFUSAL_COMPONENTS.filter(({ of, status }) => applies[of] || listed.includes(status));
};

/** What the service sends to the webhook of a run. */
export const webhookDescriptions = (schemas: Components): JsonSchema => ({
  runNotification: {
    post: {
      operationId: 'receiveRunNotification',
      tags: ['Webhooks'],
      summary: 'The status of a run',
      description:
        'Sent when the run ends and, with `webhook_intermediate_status`, also before. Signed as Standard Webhooks prescribes. The final notification is retried until it is accepted or given up, always with the same `webhook-id`. Nothing about a run follows it.',
      security: [],
      parameters: DOCUMENTED_WEBHOOK_HEADERS.map(({ name, description, schema }) => ({
        name,
        in: 'header',
        required: true,
        description,
        schema,
      })),
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemas.of(WebhookPayload) } },
      },
      responses: {
        '2XX': { description: 'The notification is accepted and not sent again.' },
        '410': { description: 'The receiver refuses the notification: it is given up.' },
        default: { description: 'The notification is sent again later.' },
      },
    },
  },
});

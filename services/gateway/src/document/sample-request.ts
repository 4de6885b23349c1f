/** A request of an operation, with example values for all that it requires. */
export interface SampleRequest {
  /** The operationId. */
  readonly id: string;
  readonly method: string;
  /** With parameters in braces. */
  readonly path: string;
  readonly params: Readonly<Record<string, Scalar>>;
  readonly query: Readonly<Record<string, Scalar>>;
  readonly headers: Readonly<Record<string, Scalar>>;
  readonly body: SampleBody | undefined;
  /** What a successful response has: `pages` are a list that continues, `bytes` is no JSON. */
  readonly answer: 'json' | 'pages' | 'bytes' | 'nothing';
}

/** The value of a parameter. */
type Scalar = string | number | boolean;

type SampleBody = { readonly json: Json } | { readonly file: string };

/** The file that samples send. */
const SAMPLE_FILE = 'fox.png';

export const sampleRequest = (
  path: string,
  method: string,
  operation: JsonObject,
  document: JsonObject,
): SampleRequest => {
  const valuesIn = (source: string): Record<string, Scalar> =>
    Object.fromEntries(
      listIn(operation, 'parameters')
        .filter(
          (one) =>
            one['in'] === source && (one['required'] === true || ALWAYS_SHOWN.has(textIn(one, 'name'))),
        )
        .map((one) => [textIn(one, 'name'), exampleOfParameter(one, document)]),
    );
  return {
    id: textIn(operation, 'operationId'),
    method: method.toUpperCase(),
    path,
    params: valuesIn('path'),
    query: valuesIn('query'),
    headers: valuesIn('header'),
    body: bodyOf(operation, document),
    answer: answerOf(operation, document),
  };
};

/** Headers that no request needs, and careful callers send. */
const ALWAYS_SHOWN = new Set(['Idempotency-Key']);

const exampleOfParameter = (parameter: JsonObject, document: JsonObject): Scalar => {
  const name = textIn(parameter, 'name');
  if (name === 'Idempotency-Key') return 'order-4711';
  const value = parameter['example'] ?? exampleValue(objectIn(parameter, 'schema'), document, name);
  const [first] = Array.isArray(value) ? value : [value];
  return typeof first === 'object' || first === undefined ? 'example' : first;
};

const bodyOf = (operation: JsonObject, document: JsonObject): SampleBody | undefined => {
  const content = objectIn(objectIn(operation, 'requestBody'), 'content');
  const json = content['application/json'];
  if (isObject(json)) return { json: exampleBody(json, document) };
  return Object.keys(content).length === 0 ? undefined : { file: SAMPLE_FILE };
};

const answerOf = (operation: JsonObject, document: JsonObject): SampleRequest['answer'] => {
  const [success] = Object.entries(objectIn(operation, 'responses'))
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => objectIn(response, 'content'));
  const json = success?.['application/json'];
  if (!isObject(json)) return Object.keys(success ?? {}).length === 0 ? 'nothing' : 'bytes';
  const name = textIn(objectIn(json, 'schema'), '$ref').replace(/.*\//, '');
  const schema = objectIn(objectIn(objectIn(document, 'components'), 'schemas'), name);
  const isList = textIn(operation, 'operationId').startsWith('list');
  return isList && 'next_cursor' in objectIn(schema, 'properties') ? 'pages' : 'json';
};

/** What the body of `queueRun` queues, with an input to show how they are given. */
export const queuedIn = (body: SampleBody | undefined): { deployment_id: Json; inputs: Json } => {
  const json = body !== undefined && 'json' in body && isObject(body.json) ? body.json : {};
  return { deployment_id: json['deployment_id'] ?? null, inputs: json['inputs'] ?? { prompt: 'a fox' } };
};

/**
 * A value that fits a schema of the document: its example, its default or its first constant, else one made from its type. An
 * object has its required members, or its first one if none is required. `name`: of the value, for what the type leaves open.
 */
const exampleValue = (schema: JsonObject, document: JsonObject, name = ''): Json => {
  const given = givenExample(schema);
  if (given !== undefined) return given;
  const reference = textIn(schema, '$ref');
  if (reference !== '') return exampleValue(referred(reference, document), document, name);
  const [option] = [...listIn(schema, 'anyOf'), ...listIn(schema, 'oneOf')].filter(
    (one) => one['type'] !== 'null',
  );
  if (option !== undefined) return exampleValue(option, document, name);
  return valueOfType(schema, document, name);
};

const referred = (reference: string, document: JsonObject): JsonObject =>
  reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<JsonObject>((part, key) => objectIn(part, key), document);

const givenExample = (schema: JsonObject): Json | undefined => {
  const [example] = Array.isArray(schema['examples']) ? schema['examples'] : [];
  const [constant] = Array.isArray(schema['enum']) ? schema['enum'] : [];
  return schema['example'] ?? example ?? schema['default'] ?? schema['const'] ?? constant;
};

const valueOfType = (schema: JsonObject, document: JsonObject, name: string): Json => {
  switch (textIn(schema, 'type')) {
    case 'object':
      return objectOf(schema, document);
    case 'array':
      return [exampleValue(objectIn(schema, 'items'), document, name)];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' && schema['minimum'] > 1 ? schema['minimum'] : 1;
    case 'string':
      return textOf(schema, name);
    default:
      return { prompt: 'a fox' };
  }
};

const objectOf = (schema: JsonObject, document: JsonObject): JsonObject => {
  const members = objectIn(schema, 'properties');
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const shown = required.length > 0 ? required : Object.keys(members).slice(0, 1);
  return Object.fromEntries(
    shown
      .filter((member) => typeof member === 'string')
      .map((member) => [member, exampleValue(objectIn(members, member), document, member)]),
  );
};

const textOf = (schema: JsonObject, name: string): string => {
  if (textIn(schema, 'format') === 'uuid' || /(?:^|_)id$/.test(name)) return EXAMPLE_ID;
  if (textIn(schema, 'format') === 'date-time') return '2026-12-01T09:00:00Z';
  if (textIn(schema, 'format') === 'uri' || name === 'url') return 'https://example.com/hook';
  if (textIn(schema, 'pattern') === '^[0-9a-f]{8}$') return '1f4b9c2e';
  return WORDS[name] ?? 'example';
};

const WORDS: Readonly<Record<string, string>> = {
  name: 'portraits',
  program: 'portrait',
  status: 'failed',
};

const EXAMPLE_ID = '01980c5e-7f3a-7b1c-9d2e-4a6b8c0d1e2f';

/** The example of a body: that of the operation, else one that fits its schema. */
const exampleBody = (content: JsonObject, document: JsonObject): Json => {
  const [named] = Object.values(objectIn(content, 'examples'));
  const value = isObject(named) ? named['value'] : undefined;
  return content['example'] ?? value ?? exampleValue(objectIn(content, 'schema'), document);
};

/** A part of the OpenAPI document. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objectIn = (value: Json | undefined, name: string): JsonObject => {
  const member = isObject(value) ? value[name] : undefined;
  return isObject(member) ? member : {};
};

const listIn = (value: Json | undefined, name: string): readonly JsonObject[] => {
  const member = isObject(value) ? value[name] : undefined;
  return Array.isArray(member) ? member.filter(isObject) : [];
};

const textIn = (value: Json | undefined, name: string): string => {
  const member = isObject(value) ? value[name] : undefined;
  return typeof member === 'string' ? member : '';
};

/** How a language writes a JSON value. */
interface Dialect {
  readonly text: (text: string) => string;
  readonly key: (name: string) => string;
  readonly word: (value: boolean | null) => string;
  readonly indent: string;
  /** Around the members of an object on one line. */
  readonly pad: string;
}

/** Columns that fit beside the navigation of the reference. */
const WIDTH = 88;

/** On one line when it fits behind what is before it, else a member on each line. `depth`: of the line that it begins on. */
export const literalIn =
  (dialect: Dialect) =>
  (value: Json | undefined, depth = 0, before = 0): string => {
    const line = onOneLine(value ?? null, dialect);
    if (line.length + before + depth * dialect.indent.length <= WIDTH) return line;
    return onLines(value ?? null, dialect, depth);
  };

const onOneLine = (value: Json, dialect: Dialect): string => {
  if (typeof value === 'string') return dialect.text(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean' || value === null) return dialect.word(value);
  if (Array.isArray(value)) return `[${value.map((item) => onOneLine(item, dialect)).join(', ')}]`;
  const members = Object.entries(value).map(
    ([name, member]) => `${dialect.key(name)}: ${onOneLine(member, dialect)}`,
  );
  return members.length === 0 ? '{}' : `{${dialect.pad}${members.join(', ')}${dialect.pad}}`;
};

const onLines = (value: Json, dialect: Dialect, depth: number): string => {
  if (typeof value !== 'object' || value === null) return onOneLine(value, dialect);
  const literal = literalIn(dialect);
  const begin = dialect.indent.repeat(depth + 1);
  const end = dialect.indent.repeat(depth);
  if (Array.isArray(value)) {
    const items = value.map((item) => `${begin}${literal(item, depth + 1)},\n`);
    return `[\n${items.join('')}${end}]`;
  }
  const members = Object.entries(value).map(([name, member]) => {
    const key = `${dialect.key(name)}: `;
    return `${begin}${key}${literal(member, depth + 1, key.length)},\n`;
  });
  return `{\n${members.join('')}${end}}`;
};

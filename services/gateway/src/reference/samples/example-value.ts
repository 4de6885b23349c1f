import { isObject, listIn, objectIn, textIn, type Json, type JsonObject } from './json.ts';

/**
 * A value that fits a schema of the document: its example, its default or its first constant, else one made from its type. An
 * object has its required members, or its first one if none is required. `name`: of the value, for what the type leaves open.
 */
export const exampleValue = (schema: JsonObject, document: JsonObject, name = ''): Json => {
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
export const exampleBody = (content: JsonObject, document: JsonObject): Json => {
  const [named] = Object.values(objectIn(content, 'examples'));
  const value = isObject(named) ? named['value'] : undefined;
  return content['example'] ?? value ?? exampleValue(objectIn(content, 'schema'), document);
};

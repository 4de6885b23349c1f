import { wrongExamples } from '@runledger/testing/api-conformance';
import { describe, expect, it } from 'vitest';
import { isNode, type Node } from '../../src/door/compiled.ts';
import { at, branchesOf, document, nodesIn, operations, resolved } from './the-document.ts';

const schemas = nodesIn(at(document, 'components', 'schemas'));
const notifications = nodesIn(document['webhooks']).flatMap(([, methods]) =>
  nodesIn(methods).map(([, one]) => one),
);
const parameters = [...operations, ...notifications].flatMap((operation: Node) =>
  nodesIn(operation['parameters']).map(
    ([, one]) => [`${String(operation['operationId'])}?${String(one['name'])}`, one] as const,
  ),
);

/** Each member of an object in the schema, however deep, with its path. */
const membersOf = (path: string, schema: Node): [string, Node][] => [
  ...nodesIn(schema['properties']).flatMap(([name, member]): [string, Node][] => [
    [`${path}.${name}`, member],
    ...membersOf(`${path}.${name}`, member),
  ]),
  ...branchesOf(schema).flatMap((branch) => membersOf(path, branch)),
  ...(isNode(schema['items']) ? membersOf(`${path}[]`, schema['items']) : []),
  ...(isNode(schema['additionalProperties']) ? membersOf(`${path}.*`, schema['additionalProperties']) : []),
  ...nodesIn(schema['patternProperties']).flatMap(([, each]) => membersOf(`${path}.*`, each)),
];

const members = schemas.flatMap(([name, schema]) => membersOf(name, schema));
const headers = nodesIn(at(document, 'components', 'headers'));
const fields: (readonly [string, Node])[] = [
  ...members,
  ...parameters.map(
    ([name, { schema, ...parameter }]) => [name, { ...Object(schema), ...parameter }] as const,
  ),
  ...headers.map(([name, { schema, ...header }]) => [name, { ...Object(schema), ...header }] as const),
];

const wordsOf = (field: Node): string => {
  const words = resolved(field)['description'];
  return typeof words === 'string' ? words : '';
};

/** A value says what it is like, a closed list has its values, and an object or a list is what is in it. */
const showsValue = (field: Node): boolean => {
  const schema = resolved(field);
  const values = schema['examples'];
  if (Array.isArray(values)) return values.length > 0;
  return (
    ['const', 'enum', 'properties'].some((word) => word in schema) ||
    (isNode(schema['items']) && showsValue(schema['items'])) ||
    branchesOf(schema).some((branch) => branch['type'] !== 'null' && showsValue(branch))
  );
};

const maybeNull = (field: Node): boolean => branchesOf(field).some((branch) => branch['type'] === 'null');

/** The paths of the fields for which it does not hold: a failure names all of them. */
const without = (is: (field: Node) => boolean, of: readonly (readonly [string, Node])[] = fields): string[] =>
  of.filter(([, field]) => !is(field)).map(([path]) => path);

describe('every field of the OpenAPI document', () => {
  it('has a description, in sentences', () => {
    expect(without((field) => /^[^a-z].*[.)]$/s.test(wordsOf(field)) || /\n- /.test(wordsOf(field)))).toEqual(
      [],
    );
  });

  it('shows a value', () => {
    expect(without(showsValue)).toEqual([]);
  });

  it('shows no value that its own schema refuses', () => {
    expect(wrongExamples(document)).toEqual([]);
  });

  it('says what null means, if it may be null', () => {
    const nullable = fields.filter(([, field]) => maybeNull(field));
    expect(nullable.length).toBeGreaterThan(150);
    expect(without((field) => /\bnull\b/i.test(String(field['description'])), nullable)).toEqual([]);
  });

  it('says when it is there, if a response may leave it out', () => {
    const optional = schemas
      .filter(([name]) => !isRequest(name))
      .flatMap(([name, schema]) => [[name, schema] as const, ...membersOf(name, schema)])
      .flatMap(([path, { properties, required }]) =>
        nodesIn(properties)
          .filter(([name]) => !Array.isArray(required) || !required.includes(name))
          .map(([name, field]) => [`${path}.${name}`, field] as const),
      );
    expect(optional.length).toBeGreaterThan(20);
    expect(without((field) => /\bpresent\b/.test(wordsOf(field)), optional)).toEqual([]);
  });

  it('has each value of a closed list in words', () => {
    const closed = fields.map(([path, field]) => [path, closedIn(field)] as const);
    const silent = closed.flatMap(([path, { values, words }]) =>
      values.filter((value) => !words.includes(`\`${value}\``)).map((value) => `${path}: ${value}`),
    );
    expect(silent.filter((each) => !NAMES.test(each))).toEqual([]);
  });
});

describe('every body of a request', () => {
  it('has an example of the whole', () => {
    const bodies = operations.flatMap(({ id, ...operation }) => {
      const schema = at(operation, 'requestBody', 'content', 'application/json', 'schema');
      return isNode(schema) ? [[id, schema] as const] : [];
    });
    expect(bodies.length).toBeGreaterThan(15);
    expect(without((body) => Array.isArray(resolved(body)['examples']), bodies)).toEqual([]);
  });
});

/** GPU models, which are names. */
const NAMES = /\.gpu: /;

/** Schemas of bodies of requests, and those in them. */
const isRequest = (name: string): boolean => requested.has(name);
const requested = new Set<string>();
const addRequested = (value: unknown): void => {
  if (!isNode(value)) return;
  const reference = value['$ref'];
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? '';
    if (requested.has(name)) return;
    requested.add(name);
    addRequested(resolved(value));
  }
  for (const [word, each] of nodesIn(value)) if (word !== 'examples') addRequested(each);
};
for (const operation of operations) addRequested(at(operation, 'requestBody'));

/** The values of a closed list, of one in a list, or of one that may be null, with the words about them. */
const closedIn = (field: Node): { values: string[]; words: string } => {
  const schema = resolved(field);
  const inner = [schema['items'], ...branchesOf(schema)].filter(isNode).map(closedIn);
  const own = Array.isArray(schema['enum']) ? schema['enum'].map(String) : [];
  return {
    values: [...own, ...inner.flatMap(({ values }) => values)],
    words: [wordsOf(field), ...inner.map(({ words }) => words)].join('\n'),
  };
};

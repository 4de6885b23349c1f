import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isNode, type Node } from '../../src/door/compiled.ts';

const FILE = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'openapi.json');

/** docs/openapi.json, which another test compares with what a gateway serves. */
export const document = JSON.parse(readFileSync(FILE, 'utf8')) as Node;

export const at = (value: unknown, ...names: readonly string[]): unknown =>
  names.reduce<unknown>((node, name) => (isNode(node) ? node[name] : undefined), value);

/** The members of a node that are nodes, with their names. */
export const nodesIn = (value: unknown): [string, Node][] =>
  isNode(value) ? Object.entries(value).filter((entry): entry is [string, Node] => isNode(entry[1])) : [];

export const branchesOf = (schema: Node): Node[] =>
  ['anyOf', 'oneOf', 'allOf'].flatMap((word) => nodesIn(schema[word]).map(([, branch]) => branch));

/** A schema that has a name, where it is used: with what is said of it there. */
export const resolved = (schema: Node): Node => {
  const { $ref: reference, ...here } = schema;
  if (typeof reference !== 'string') return schema;
  const found = at(document, ...reference.split('/').slice(1));
  return isNode(found) ? { ...found, ...here } : schema;
};

export const operations = nodesIn(document['paths']).flatMap(([path, methods]) =>
  nodesIn(methods).map(([, one]) => ({ ...one, path, id: String(one['operationId']) })),
);

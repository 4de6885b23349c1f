import { describe, expect, it } from 'vitest';
import { isNode } from '../../src/door/compiled.ts';
import { at, nodesIn, operations, resolved } from './the-document.ts';

const byId = new Map(operations.map((operation) => [operation.id, operation]));

/** Each link of each response, with the schema of the body. */
const links = operations.flatMap(({ id, ...operation }) =>
  nodesIn(at(operation, 'responses')).flatMap(([, response]) =>
    nodesIn(response['links']).map(([name, link]) => ({
      name: `${id} -> ${name}`,
      from: id,
      to: String(link['operationId']),
      parameters: Object.entries(Object(link['parameters'])),
      body: at(response, 'content', 'application/json', 'schema'),
    })),
  ),
);

const parametersOf = (id: string) =>
  nodesIn(at(byId.get(id), 'parameters')).map(([, parameter]) => parameter);

/** Whether the schema has the member at this JSON pointer. */
const hasMember = (schema: unknown, pointer: string): boolean =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((node, name) => isNode(node) && at(resolved(node), 'properties', name), schema) !==
  undefined;

/** Whether a runtime expression has a value. */
const isThere = (expression: string, id: string, body: unknown): boolean => {
  const [, source, name = ''] = /^\$(response\.body#|request\.path\.)(.+)$/.exec(expression) ?? [];
  if (source === 'response.body#') return hasMember(body, name);
  return source === 'request.path.' && parametersOf(id).some((one) => one['name'] === name);
};

describe('the links of the OpenAPI document', () => {
  it('lead from a queued run to what one does with a run', () => {
    const named = links.filter(({ from }) => from === 'queueRun').map(({ to }) => to);
    expect(named).toEqual([
      'getRun',
      'getRunWaiting',
      'watchRun',
      'getRunLogs',
      'getRunHistory',
      'cancelRun',
      'getDeliveries',
    ]);
  });

  it('lead from each created record to its own operations, and from each page to the next one', () => {
    const created = operations.filter(({ id }) => /^create(?!RunToken)/.test(id)).map(({ id }) => id);
    expect(created.filter((id) => !links.some(({ from }) => from === id))).toEqual([]);
    const paged = operations.filter(({ id }) => parametersOf(id).some(({ name }) => name === 'cursor'));
    expect(paged.filter(({ id }) => !links.some(({ name }) => name === `${id} -> nextPage`))).toEqual([]);
  });

  it('name operations that there are', () => {
    expect(links.filter(({ to }) => !byId.has(to)).map(({ name }) => name)).toEqual([]);
  });

  it('give every parameter of the path, and none that the operation does not have', () => {
    for (const { name, to, parameters } of links) {
      const known = parametersOf(to);
      const ofPath = known.filter((one) => one['in'] === 'path').map((one) => one['name']);
      const given = parameters.map(([parameter]) => parameter);
      expect([name, known.map((one) => one['name'])]).toEqual([name, expect.arrayContaining(given)]);
      expect([name, given]).toEqual([name, expect.arrayContaining(ofPath)]);
    }
  });

  it('take their values from members that the body of the response has, or from the path of the request', () => {
    const wrong = links.flatMap(({ name, from: id, parameters, body }) =>
      parameters
        .filter(([, from]) => !isThere(String(from), id, body))
        .map(([parameter]) => `${name}: ${parameter}`),
    );
    expect(wrong).toEqual([]);
  });
});

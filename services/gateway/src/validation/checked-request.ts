import type { JsonValue } from '@runledger/contracts/json';
import type { Context } from 'koa';
import type { TObject } from 'typebox';
import type { CheckedRequest, Route, RequestSchemas } from '../http/operation.ts';
import { invalid, invalidRequest, type Invalid } from '../http/refusal.ts';
import { isNode, own } from './node.ts';
import { MAX_PROBLEMS, pydanticProblems, type Source } from './pydantic-problems.ts';
import { MISSING } from './pydantic-words.ts';
import { knownParameters, unknownParameters } from './unknown-parameters.ts';
import { withDoubles } from './with-doubles.ts';
import { readTexts, textsOf, type TextSource } from './read-texts.ts';

/** Returns a request that fits its schemas. Refuses others with everything that is wrong, in the order path, query, header, body. */
export type CheckRequest = (ctx: Context, body: JsonValue | undefined) => CheckedRequest<RequestSchemas>;

/** Makes the check of the requests of an operation. */
export const checkedRequest = ({
  operation,
  extraCheck,
}: Pick<Route, 'operation' | 'extraCheck'>): CheckRequest => {
  const { request, bodyOptional, ofSpecification } = operation;
  const known = knownParameters(operation);
  const path = textReader(request.path, 'path');
  const query = textReader(request.query, 'query');
  const headers = textReader(request.headers, 'header');
  const locations = locationsOf(request);
  return (ctx, body) => {
    const wrong: Invalid[] = [];
    // The router sets them; its types leave `params` open.
    const parameters: unknown = ctx['params'];
    const given = {
      path: path((name) => textsOf(own(parameters, name)), wrong),
      query: query((name) => textsOf(own(ctx.query, name)), wrong),
      headers: headers((name) => textsOf(own(ctx.req.headers, name.toLowerCase())), wrong),
      body: request.body && body !== undefined ? withDoubles(request.body, body) : body,
    };
    if (request.body && body !== undefined) wrong.push(...pydanticProblems(request.body, given.body, 'body'));
    else if (request.body && bodyOptional !== true) wrong.push(invalid(['body'], MISSING.type, MISSING.msg));
    if (ofSpecification !== true) wrong.push(...unknownParameters(ctx.query, known));
    wrong.push(...(extraCheck?.(given) ?? []));
    if (wrong.length > 0) throw invalidRequest(...sorted(wrong, locations));
    return given;
  };
};

/** The locations of problems, in the order of the refusal. */
const locationsOf = (request: RequestSchemas): string[] =>
  Object.entries({
    path: request.path,
    query: request.query,
    header: request.headers,
    body: request.body,
  }).flatMap(([source, schema]) => {
    const properties = own(schema, 'properties');
    const names = isNode(properties) ? Object.keys(properties) : [];
    return [source, ...names.map((name) => `${source}.${name}`)];
  });

/** In order, the first problem of each location, up to a limit. */
const sorted = (problems: readonly Invalid[], locations: readonly string[]): Invalid[] => {
  const rank = ({ loc: [source, name] }: Invalid): number =>
    Math.max(locations.indexOf(`${source}.${name}`), locations.indexOf(String(source)));
  const first = new Map<string, Invalid>();
  for (const problem of problems.toSorted((a, b) => rank(a) - rank(b))) {
    const location = JSON.stringify(problem.loc);
    if (!first.has(location)) first.set(location, problem);
  }
  return [...first.values()].slice(0, MAX_PROBLEMS);
};

type ReadTexts = (given: TextSource, wrong: Invalid[]) => Record<string, unknown> | undefined;

const textReader = (schema: TObject | undefined, source: Source): ReadTexts => {
  if (schema === undefined) return () => undefined;
  return (given, wrong) => {
    const value = readTexts(schema, given);
    for (const { loc, type, msg } of pydanticProblems(schema, value, source)) {
      // The index of a text says little, since texts may be separated by commas.
      wrong.push(invalid(loc.slice(0, 2), type, msg));
    }
    return value;
  };
};

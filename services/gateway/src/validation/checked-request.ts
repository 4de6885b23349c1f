import type { JsonValue } from '@runledger/contracts/json';
import type { Context } from 'koa';
import type { TObject } from 'typebox';
import type { CheckedRequest, Route, RequestSchemas } from '../http/operation.ts';
import { invalid, Refused, type Invalid } from '../http/refusal.ts';
import { isNode, own } from './node.ts';
import { MOST_PROBLEMS, pydanticProblems, type Source } from './pydantic-problems.ts';
import { MISSING } from './pydantic-words.ts';
import { readTexts, textsOf, type TextSource } from './read-texts.ts';

/** A request that fits its schemas. Any other is refused with all that is wrong, in the order path, query, header, body. */
export type CheckRequest = (ctx: Context, body: JsonValue | undefined) => CheckedRequest<RequestSchemas>;

/** Makes the check of the requests of an operation. */
export const checkedRequest = ({
  operation,
  extraCheck,
}: Pick<Route, 'operation' | 'extraCheck'>): CheckRequest => {
  const { request, bodyOptional } = operation;
  const path = textReader(request.path, 'path');
  const query = textReader(request.query, 'query');
  const headers = textReader(request.headers, 'header');
  const places = placesOf(request);
  return (ctx, body) => {
    const wrong: Invalid[] = [];
    // The router puts them there; `params` of its types is open.
    const parameters: unknown = ctx['params'];
    const given = {
      path: path((name) => textsOf(own(parameters, name)), wrong),
      query: query((name) => textsOf(own(ctx.query, name)), wrong),
      headers: headers((name) => textsOf(own(ctx.req.headers, name.toLowerCase())), wrong),
      body,
    };
    if (request.body && body !== undefined) wrong.push(...pydanticProblems(request.body, body, 'body'));
    else if (request.body && bodyOptional !== true) wrong.push(invalid(['body'], MISSING.type, MISSING.msg));
    wrong.push(...(extraCheck?.(given) ?? []));
    if (wrong.length > 0) throw new Refused({ kind: 'invalid', problems: told(wrong, places) });
    return given;
  };
};

/** Where something may be wrong, in the order of the refusal. */
const placesOf = (request: RequestSchemas): string[] =>
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

/** In order, the first problem of each place, and no more than anyone reads. */
const told = (problems: readonly Invalid[], places: readonly string[]): Invalid[] => {
  const rank = ({ loc: [source, name] }: Invalid): number =>
    Math.max(places.indexOf(`${source}.${name}`), places.indexOf(String(source)));
  const first = new Map<string, Invalid>();
  for (const problem of problems.toSorted((a, b) => rank(a) - rank(b))) {
    const place = JSON.stringify(problem.loc);
    if (!first.has(place)) first.set(place, problem);
  }
  return [...first.values()].slice(0, MOST_PROBLEMS);
};

type ReadTexts = (given: TextSource, wrong: Invalid[]) => Record<string, unknown> | undefined;

const textReader = (schema: TObject | undefined, source: Source): ReadTexts => {
  if (schema === undefined) return () => undefined;
  return (given, wrong) => {
    const value = readTexts(schema, given);
    for (const { loc, type, msg } of pydanticProblems(schema, value, source)) {
      // Which of several texts it is says little, since they may stand between commas.
      wrong.push(invalid(loc.slice(0, 2), type, msg));
    }
    return value;
  };
};

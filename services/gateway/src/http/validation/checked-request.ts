import type { JsonValue } from '@runledger/contracts/json';
import type { Context } from 'koa';
import type { TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Settings } from 'typebox/system';
import type { Given, Route, Taken } from '../operation.ts';
import { invalid, Refused, type Invalid } from '../problem.ts';
import { isNode, own } from './node.ts';
import { pydanticProblems } from './pydantic-problems.ts';
import { readTexts, textsOf, type TextSource } from './read-texts.ts';

// A request may have 256 inputs, and its sender is told of all that is wrong; what an attacker is told has a bound.
Settings.Set({ maxErrors: 1_000 });

/** A request that fits; any other is refused with all that is wrong with it, in the order path, query, header, body. */
export type CheckRequest = (ctx: Context, body: JsonValue | undefined) => Given<Taken>;

/** Compiles what an operation takes. */
export const checkedRequest = ({ operation, also }: Pick<Route, 'operation' | 'also'>): CheckRequest => {
  const { takes, bodyMayMiss } = operation;
  const path = textReader(takes.path, 'path');
  const query = textReader(takes.query, 'query');
  const headers = textReader(takes.headers, 'header');
  const checkBody = takes.body ? checkOf(takes.body, 'body') : () => [];
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
    if (body !== undefined) wrong.push(...checkBody(body));
    else if (takes.body && bodyMayMiss !== true) wrong.push(invalid(['body'], 'missing', 'Field required'));
    wrong.push(...(also?.(given) ?? []));
    if (wrong.length > 0) throw new Refused({ kind: 'invalid', problems: inOrder(takes, wrong) });
    return given;
  };
};

const inOrder = (takes: Taken, problems: readonly Invalid[]): Invalid[] => {
  const names = Object.entries({
    path: takes.path,
    query: takes.query,
    header: takes.headers,
    body: takes.body,
  }).flatMap(([source, schema]) => [
    source,
    ...Object.keys(propertiesOf(schema)).map((name) => `${source}.${name}`),
  ]);
  const rank = ({ loc: [source, name] }: Invalid): number =>
    Math.max(names.indexOf(`${source}.${name}`), names.indexOf(String(source)));
  return problems.toSorted((a, b) => rank(a) - rank(b));
};

const propertiesOf = (schema: TSchema | undefined): object => {
  const properties = own(schema, 'properties');
  return isNode(properties) ? properties : {};
};

const checkOf = (schema: TSchema, source: string): ((value: unknown) => Invalid[]) => {
  const compiled = Compile(schema);
  return (value) =>
    compiled.Check(value) ? [] : pydanticProblems({ schema, value, errors: compiled.Errors(value), source });
};

type ReadTexts = (given: TextSource, wrong: Invalid[]) => Record<string, unknown> | undefined;

const textReader = (schema: TObject | undefined, source: string): ReadTexts => {
  if (schema === undefined) return () => undefined;
  const check = checkOf(schema, source);
  return (given, wrong) => {
    const value = readTexts(schema, given);
    // Which of several texts it is says little, since they may stand between commas.
    const names = new Map(
      check(value).map(({ loc: [, name = ''], ...said }) => [name, { loc: [source, name], ...said }]),
    );
    wrong.push(...names.values());
    return value;
  };
};

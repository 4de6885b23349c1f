import { isNestedAtMost, type JsonValue } from '@runledger/contracts/json';
import type { Context } from 'koa';
import type { Static, TObject, TSchema } from 'typebox';
import { compareNumbers, doubleOf, isExactNumber, type ExactNumber } from '@runledger/contracts/exact-number';
import type { CheckedRequest, Route, RequestSchemas } from './operation.ts';
import { invalid, invalidRequest, type Invalid } from './refusal.ts';
import { isNode, own, fits, isRecord, type Node } from './compiled.ts';
import { MAX_PROBLEMS, problemsOf, type Source } from './problems.ts';
import { MISSING } from './words.decide.ts';
import { knownParameters, unknownParameters } from './unknown-names.ts';

/** Returns a request that fits its schemas. Refuses others with everything that is wrong, in the order path, query, header, body. */
type CheckRequest = (ctx: Context, body: JsonValue | undefined) => CheckedRequest<RequestSchemas>;

/** Makes the check of the requests of an operation. */
export const checkedRequest = ({ operation, extraCheck }: Route): CheckRequest => {
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
    const asked = ctx.query;
    const given = {
      path: path((name) => textsOf(own(parameters, name)), wrong),
      query: query((name) => textsOf(own(asked, name)), wrong),
      headers: headers((name) => textsOf(own(ctx.req.headers, name.toLowerCase())), wrong),
      body: request.body && body !== undefined ? withDoubles(request.body, body) : body,
    };
    if (request.body && body !== undefined) wrong.push(...problemsOf(request.body, given.body, 'body'));
    else if (request.body && bodyOptional !== true) wrong.push(invalid(['body'], MISSING.type, MISSING.msg));
    if (ofSpecification !== true) wrong.push(...unknownParameters(asked, known));
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

/** The texts of a list, or of a text with commas, each once. */
export const textsIn = (given: string | readonly string[]): string[] => [
  ...new Set(typeof given === 'string' ? partsOf(given) : given),
];

/** The values of a list, or of a text with commas, each once; undefined when left out. The schema has refused other values. */
export const wordsIn = <Schema extends TSchema & { readonly enum: readonly string[] }>(
  schema: Schema,
  given: string | readonly unknown[] | null | undefined,
): Static<Schema>[] | undefined => {
  if (given === null || given === undefined) return undefined;
  const isWord = (word: unknown): word is Static<Schema> =>
    typeof word === 'string' && schema.enum.includes(word);
  return [...new Set((typeof given === 'string' ? partsOf(given) : given).filter(isWord))];
};

type ReadTexts = (given: TextSource, wrong: Invalid[]) => Record<string, unknown> | undefined;

const textReader = (schema: TObject | undefined, source: Source): ReadTexts => {
  if (schema === undefined) return () => undefined;
  const members = Object.entries(schema.properties);
  return (given, wrong) => {
    const value = readTexts(members, given);
    for (const { loc, type, msg } of problemsOf(schema, value, source)) {
      // The index of a text says little, since texts may be separated by commas.
      wrong.push(invalid(loc.slice(0, 2), type, msg));
    }
    return value;
  };
};

/** The texts under a name of a query, a path or headers; empty when the name is missing. */
type TextSource = (name: string) => readonly string[];

/**
 * Parses texts as a schema describes them. A text that cannot be parsed stays a text, which the schema then refuses. Of a
 * repeated name the last one counts. Lists take all of them, and also split texts at commas.
 */
const readTexts = (members: readonly [string, TSchema][], source: TextSource): Record<string, unknown> => {
  const read: [string, unknown][] = [];
  for (const [name, member] of members) {
    const texts = source(name);
    const last = texts.at(-1);
    if (last === undefined) continue;
    const isList = own(member, 'type') === 'array';
    read.push([name, isList ? texts.flatMap(partsOf) : readText(member, last)]);
  }
  return Object.fromEntries(read);
};

/** Node and Koa give a text, several, or nothing for a name. */
const textsOf = (value: unknown): readonly string[] => {
  if (value === undefined) return NONE;
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((text): text is string => typeof text === 'string') : NONE;
};

const NONE: readonly string[] = [];

const partsOf = (text: string): string[] => text.split(',').map((part) => part.trim());

const INTEGER = /^[+-]?\d+(?:\.0+)?$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

/** As pydantic parses them, except its many words for yes and no. Python writes `True` and `False`. */
const readText = (schema: unknown, text: string): unknown => {
  switch (own(schema, 'type')) {
    case 'integer':
      return numberIn(text, INTEGER);
    case 'number':
      return numberIn(text, NUMBER);
    case 'boolean':
      return BOOLEANS.get(text.toLowerCase()) ?? text;
    default:
      return own(schema, 'format') === 'uuid' ? text.toLowerCase() : text;
  }
};

const numberIn = (text: string, form: RegExp): unknown => {
  const trimmed = text.trim();
  const number = form.test(trimmed) ? Number(trimmed) : Infinity;
  return Number.isFinite(number) ? number : text;
};

/**
 * A body with doubles where its schema wants them: `5.0` of a member that is an integer is 5. What users define themselves stays as they
 * wrote it, such as inputs, and so does a number that a double would change, which then does not fit.
 */
const withDoubles = (schema: TSchema, body: JsonValue): JsonValue =>
  // The schemas of typebox are plain JSON.
  fits(schema as Node, body) ? body : replaced(schema, body);

const replaced = (schema: unknown, value: JsonValue): JsonValue => {
  if (!isNode(schema) || typeof value !== 'object' || value === null) return value;
  if (isExactNumber(value)) return fits(schema, value) ? value : sameDouble(value);
  const branches: unknown = schema['anyOf'];
  if (Array.isArray(branches))
    return branches.reduce<JsonValue>((part, branch) => replaced(branch, part), value);
  const { items, properties, additionalProperties } = schema;
  if (Array.isArray(value)) return isNode(items) ? value.map((item) => replaced(items, item)) : value;
  const described = isNode(properties) ? properties : {};
  if (!isRecord(value)) return value;
  // Entries, because `__proto__` is an ordinary name.
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      replaced(Object.hasOwn(described, name) ? described[name] : additionalProperties, member),
    ]),
  );
};

const sameDouble = (value: ExactNumber): number | ExactNumber => {
  const double = doubleOf(value) ?? 0;
  return compareNumbers(value, double) === 0 ? double : value;
};

const MAX_LEVELS = 32;

/**
 * What is wrong with JSON that nests too deeply: writing it as JSON again would recurse too deeply.
 */
export const nestingProblems = (value: unknown, loc: Invalid['loc']): Invalid[] => {
  if (isNestedAtMost(MAX_LEVELS, value)) return [];
  const msg = `Send at most ${MAX_LEVELS} levels of arrays and objects`;
  return [invalid(loc, 'json_invalid', msg)];
};

import { distance } from 'fastest-levenshtein';
import { isNode, isRecord, own, type Node } from './compiled.ts';
import type { Operation } from './operation.ts';
import { chosenBranch } from './problems.ts';
import { invalid, type Invalid } from './refusal.ts';
import { EXTRA } from './words.decide.ts';

/** Longer names are compared with none. */
const MAX_COMPARED = 64;

/** The known name that a misspelt one most probably means: at most a third of its letters are wrong, or its letters are in another order. Undefined when none is near. */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  if (name.length > MAX_COMPARED) return undefined;
  const given = name.toLowerCase();
  const [nearest] = known
    .map((word) => ({ word, mistakes: mistakesIn(given, word.toLowerCase()) }))
    .filter(({ word, mistakes }) => mistakes <= Math.max(1, Math.floor(word.length / 3)))
    .toSorted((a, b) => a.mistakes - b.mistakes);
  return nearest?.word;
};

const mistakesIn = (given: string, word: string): number =>
  given !== word && sorted(given) === sorted(word) ? 1 : distance(given, word);

const sorted = (text: string): string => Array.from(text).sort().join('');

/** The end of a sentence about an unknown name: which one is meant. Nothing when none is near. */
export const didYouMean = (
  name: string,
  known: readonly string[],
  quoted: (name: string) => string = JSON.stringify,
): string => {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : `; did you mean ${quoted(nearest)}?`;
};

/** A header has room for so many. */
const MAX_NAMED = 16;
const MAX_PATH_LENGTH = 128;
const MORE = '...';

/** A member that a schema does not know. */
export interface UnknownMember {
  readonly path: Path;
  /** The members that the schema has there. */
  readonly known: readonly string[];
}

type Path = readonly (string | number)[];

/**
 * The members of a body that its schema does not know, and one more than a header names. The search follows the schema, so what an operation
 * takes as it is, such as inputs, is not searched.
 */
export const unknownMembers = (schema: unknown, body: unknown): UnknownMember[] => {
  const found: UnknownMember[] = [];
  addUnknown(schema, body, [], found);
  return found;
};

const addUnknown = (schema: unknown, value: unknown, path: Path, found: UnknownMember[]): void => {
  if (!isNode(schema) || found.length > MAX_NAMED) return;
  if (Array.isArray(schema['anyOf'])) addUnknown(chosenBranch(schema, value), value, path, found);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) addUnknown(schema['items'], item, [...path, index], found);
  } else if (isRecord(value)) addUnknownOf(schema, value, path, found);
};

const addUnknownOf = (schema: Node, value: Node, path: Path, found: UnknownMember[]): void => {
  const properties = own(schema, 'properties');
  if (!isNode(properties)) return;
  for (const name of Object.keys(value)) {
    const known = own(properties, name);
    if (known !== undefined) addUnknown(known, value[name], [...path, name], found);
    // Others have a schema, or are refused.
    else if (schema['additionalProperties'] === undefined)
      found.push({ path: [...path, name], known: Object.keys(properties) });
    if (found.length > MAX_NAMED) return;
  }
};

/** For the header that programs read; undefined without any. */
export const ignoredMembers = (found: readonly UnknownMember[]): string | undefined => {
  if (found.length === 0) return undefined;
  const named = found.slice(0, MAX_NAMED).map(({ path }) => pathText(path));
  return [...named, ...(found.length > MAX_NAMED ? [MORE] : [])].join(', ');
};

/** Each may be as long as a name: together they must fit into the headers of a response. */
const MAX_WARNINGS = 8;

/** What a response warns of, in words that a header may have: names that the operation does not know, and ignored. */
export const warningsOf = (
  members: readonly UnknownMember[],
  /** Of the query. */
  parameters: readonly string[],
  known: readonly string[],
): string[] =>
  [
    ...members.map((member) => warning('body member', member)),
    ...parameters.map((name) => warning('query parameter', { path: [name], known })),
  ].slice(0, MAX_WARNINGS);

const warning = (what: string, { path, known }: UnknownMember): string => {
  const inPlace = (name: string): string => `"${pathText([...path.slice(0, -1), name])}"`;
  return `unknown ${what} "${pathText(path)}"${didYouMean(String(path.at(-1)), known, inPlace)}`;
};

/** Visible ASCII, without what separates paths and names. */
export const pathText = (path: Path): string => {
  const text = path.map((part) => encodeURIComponent(part).replaceAll('.', '%2E')).join('.');
  return text.length <= MAX_PATH_LENGTH
    ? text
    : `${text.slice(0, MAX_PATH_LENGTH).replace(/%.?$/, '')}${MORE}`;
};

/** RFC 6750, section 2.3: where a token of a run may stand. */
export const TOKEN_PARAMETER = 'access_token';
const MAX_NAME_LENGTH = 64;

/** The names that a query of the operation may have. */
export const knownParameters = ({ request, runToken }: Operation): string[] => {
  const properties = own(request.query, 'properties');
  return [
    ...(isNode(properties) ? Object.keys(properties) : []),
    ...(runToken?.inQuery ? [TOKEN_PARAMETER] : []),
  ];
};

/** The names in a query that an operation does not know. */
export const unknownInQuery = (query: object, known: readonly string[]): string[] =>
  Object.keys(query).filter((name) => !known.includes(name));

/** What is wrong with a query that has other names: a misspelt filter would select everything. */
export const unknownParameters = (query: object, known: readonly string[]): Invalid[] =>
  unknownInQuery(query, known)
    .slice(0, MAX_NAMED)
    .map((name) =>
      invalid(
        ['query', name.slice(0, MAX_NAME_LENGTH).toWellFormed()],
        EXTRA.type,
        `${EXTRA.msg}${didYouMean(name, known) || allOf(known)}`,
      ),
    );

const allOf = (known: readonly string[]): string =>
  known.length === 0
    ? '. The query of this operation has no parameters'
    : `. The query may have ${known.join(', ')}`;

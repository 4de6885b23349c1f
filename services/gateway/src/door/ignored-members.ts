import { isNode, isRecord, own, type Node } from './compiled.ts';
import { chosenBranch } from './pydantic-problems.ts';
import type { Operation } from './operation.ts';
import { invalid, type Invalid } from './refusal.ts';
import { nearestName } from './nearest-name.ts';
import { EXTRA } from './pydantic-words.decide.ts';

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

/** For the header of a response; undefined without any. */
export const ignoredMembers = (found: readonly UnknownMember[]): string | undefined => {
  if (found.length === 0) return undefined;
  const named = found.slice(0, MAX_NAMED).map(({ path }) => pathText(path));
  return [...named, ...(found.length > MAX_NAMED ? [MORE] : [])].join(', ');
};

/** Adds unknown members, until there are more than a header names. */
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
    .map((name) => {
      const nearest = nearestName(name, known);
      const hint = nearest === undefined ? allOf(known) : `Did you mean '${nearest}'?`;
      return invalid(
        ['query', name.slice(0, MAX_NAME_LENGTH).toWellFormed()],
        EXTRA.type,
        `${EXTRA.msg}: the operation has no such parameter of the query. ${hint}`,
      );
    });

const allOf = (known: readonly string[]): string =>
  known.length === 0 ? 'It has none' : `It has ${known.map((name) => `'${name}'`).join(', ')}`;

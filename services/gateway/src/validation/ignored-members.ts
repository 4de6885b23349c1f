import { isNode, isRecord, own, type Node } from './node.ts';
import { chosenBranch } from './union-branch.ts';

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

import { isNode, isRecord, own, type Node } from './node.ts';
import { chosenBranch } from './union-branch.ts';

/** A header has room for so many. */
const MAX_NAMED = 16;
const MAX_PATH_LENGTH = 128;
const MORE = '...';

/**
 * The members of a body that its schema does not know, for the header of a response; undefined without any. The search follows the schema,
 * so what an operation takes as it is, such as inputs, is not searched.
 */
export const ignoredMembers = (schema: unknown, body: unknown): string | undefined => {
  const found = unknownMembers(schema, body, [])
    .take(MAX_NAMED + 1)
    .toArray();
  if (found.length === 0) return undefined;
  const named = found.slice(0, MAX_NAMED).map(pathText);
  return [...named, ...(found.length > MAX_NAMED ? [MORE] : [])].join(', ');
};

type Path = readonly (string | number)[];

function* unknownMembers(schema: unknown, value: unknown, path: Path): Generator<Path, undefined> {
  if (!isNode(schema)) return;
  if (Array.isArray(schema['anyOf'])) {
    yield* unknownMembers(chosenBranch(schema, value), value, path);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      yield* unknownMembers(schema['items'], item, [...path, index]);
  } else if (isRecord(value)) yield* membersOf(schema, value, path);
}

function* membersOf(schema: Node, value: Node, path: Path): Generator<Path, undefined> {
  const properties = own(schema, 'properties');
  if (!isNode(properties)) return;
  for (const [name, member] of Object.entries(value)) {
    const known = own(properties, name);
    if (known !== undefined) yield* unknownMembers(known, member, [...path, name]);
    // Others have a schema, or are refused.
    else if (schema['additionalProperties'] === undefined) yield [...path, name];
  }
}

/** Visible ASCII, without what separates paths and names. */
const pathText = (path: Path): string => {
  const text = path.map((part) => encodeURIComponent(part).replaceAll('.', '%2E')).join('.');
  return text.length <= MAX_PATH_LENGTH
    ? text
    : `${text.slice(0, MAX_PATH_LENGTH).replace(/%.?$/, '')}${MORE}`;
};

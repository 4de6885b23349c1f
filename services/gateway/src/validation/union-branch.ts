import { isNode, isRecord, own, type Node } from './node.ts';
import { NO_MODEL, NOT_AS_DESCRIBED, type Words } from './pydantic-words.ts';

/** The branch of a union that a value was intended for, by its type or its tag; undefined when it is unknown. */
export const chosenBranch = (union: Node, value: unknown): Node | undefined => {
  const branches = branchesOf(union);
  const [meant, ...others] = branches.filter((branch) => branch['type'] !== 'null');
  if (others.length === 0) return meant;
  const ofType = branches.filter((branch) => branch['type'] === typeOf(value));
  if (ofType.length === 1) return ofType[0];
  const tag = tagOf(union);
  if (tag === undefined) return meant;
  return isRecord(value) ? branches.find((branch) => constantOf(branch, tag) === own(value, tag)) : undefined;
};

/** As a schema names it. */
const typeOf = (value: unknown): string =>
  Array.isArray(value) ? 'array' : isRecord(value) ? 'object' : typeof value;

/** The problem of a value whose intended branch is unknown. */
export const wordsOfUnion = (union: Node, value: unknown): Words => {
  const tag = tagOf(union);
  if (tag === undefined) return NOT_AS_DESCRIBED;
  if (!isRecord(value)) return NO_MODEL;
  if (!Object.hasOwn(value, tag)) {
    return { type: 'union_tag_not_found', msg: `Unable to extract tag using discriminator '${tag}'` };
  }
  const expected = branchesOf(union).map((branch) => `'${String(constantOf(branch, tag))}'`);
  return {
    type: 'union_tag_invalid',
    msg: `Input tag${shortly(value[tag])} found using '${tag}' does not match any of the expected tags: ${expected.join(', ')}`,
  };
};

/** Nothing of a list or an object, since it may be as large as a body. */
const shortly = (given: unknown): string =>
  isNode(given) ? '' : ` '${String(given).slice(0, 64).toWellFormed()}'`;

/** The member whose constant identifies the branch, in a union of objects. */
const tagOf = (union: Node): string | undefined => {
  const branches = branchesOf(union);
  return Object.keys(propertiesOf(branches[0])).find((name) =>
    branches.every((branch) => constantOf(branch, name) !== undefined),
  );
};

const branchesOf = (union: Node): Node[] =>
  Array.isArray(union['anyOf']) ? union['anyOf'].filter(isNode) : [];

const propertiesOf = (schema: Node | undefined): Node => {
  const properties = schema?.['properties'];
  return isNode(properties) ? properties : {};
};

const constantOf = (branch: Node, name: string): unknown => own(own(propertiesOf(branch), name), 'const');

import { isNode, type Node } from './node.ts';

/** Which branch of a union a value was meant to fit; undefined when that cannot be told. */
export const chosenBranch = (union: Node, value: unknown): number | undefined => {
  const branches = branchesOf(union);
  if (union['x-refusal'] !== undefined) return undefined;
  const meant = branches.flatMap((branch, index) => (branch['type'] === 'null' ? [] : [index]));
  if (meant.length === 1) return meant[0];
  const tag = tagOf(union);
  if (tag === undefined || !isNode(value)) return undefined;
  return branches.findIndex((branch) => constantOf(branch, tag) === value[tag]) >= 0
    ? branches.findIndex((branch) => constantOf(branch, tag) === value[tag])
    : undefined;
};

/** The member that tells the branches of a union of objects apart by a constant. */
export const tagOf = (union: Node): string | undefined => {
  const [first, ...others] = branchesOf(union);
  const properties = first?.['properties'];
  return isNode(properties)
    ? Object.keys(properties).find((name) =>
        [first, ...others].every((branch) => branch !== undefined && constantOf(branch, name) !== undefined),
      )
    : undefined;
};

/** The constants of a tag, in the order of the branches. */
export const tagsOf = (union: Node, tag: string): unknown[] =>
  branchesOf(union).map((branch) => constantOf(branch, tag));

const branchesOf = (union: Node): Node[] =>
  Array.isArray(union['anyOf']) ? union['anyOf'].filter(isNode) : [];

const constantOf = (branch: Node, name: string): unknown => {
  const properties = branch['properties'];
  const member = isNode(properties) ? properties[name] : undefined;
  return isNode(member) ? member['const'] : undefined;
};

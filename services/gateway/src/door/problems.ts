import type { TSchema } from 'typebox';
import { invalid, type Invalid } from './refusal.ts';
import { errorsOf, fits, isNode, isRecord, own, type Node } from './compiled.ts';
import {
  EXTRA,
  MISSING,
  NO_OBJECT,
  NOT_AS_DESCRIBED,
  ownWords,
  WORDS,
  wordsOf,
  wrongTag,
  type Words,
} from './words.decide.ts';

/** A refusal lists at most this number of problems. A request may have 256 inputs. */
export const MAX_PROBLEMS = 1_000;

/** All parts except the body are text. */
export type Source = 'path' | 'query' | 'header' | 'body';

/**
 * What is wrong with a value, in the form of the run API, section 2.4: in the order of the schema, one problem for each location.
 * Empty if and only if the value fits.
 *
 * The compiled schema says whether a part fits. The search descends into parts that do not fit, as deeply as the schema,
 * never as deeply as the value.
 */
export const problemsOf = (schema: TSchema, value: unknown, source: Source): Invalid[] => {
  if (!isNode(schema)) throw new TypeError('A schema is an object');
  if (fits(schema, value)) return [];
  const found = problemsIn({ schema, value, loc: [source], isText: source !== 'body' });
  const problems = found.take(MAX_PROBLEMS).toArray();
  return problems.length > 0 ? problems : [problem([source], NOT_AS_DESCRIBED)];
};

interface Part {
  readonly schema: Node;
  readonly value: unknown;
  readonly loc: Invalid['loc'];
  readonly isText: boolean;
}

type Problems = Generator<Invalid, void, undefined>;

const problem = (loc: Invalid['loc'], { type, msg }: Words): Invalid => invalid(loc, type, msg);

function* problemsIn(part: Part): Problems {
  const { schema, value, loc, isText } = part;
  if (fits(schema, value)) return;
  const words = ownWords(schema);
  if (words) yield problem(loc, words);
  else if (schema['anyOf'] !== undefined) yield* problemsInUnion(part);
  else if (isNode(schema['properties']) && isRecord(value)) yield* problemsInMembers(part, value);
  else if (isNode(schema['items']) && Array.isArray(value)) yield* problemsInItems(part, value);
  else {
    const errors = errorsOf(schema, value).filter(({ instancePath }) => instancePath === '');
    // A value outside a list of words is reported as that, not as a wrong type.
    const error = errors.find(({ keyword }) => keyword === 'const' || keyword === 'enum') ?? errors[0];
    yield problem(loc, error ? wordsOf({ keyword: error.keyword, schema, value, isText }) : NOT_AS_DESCRIBED);
  }
}

/** Of a union without a fitting branch, only the intended branch explains why. */
function* problemsInUnion(part: Part): Problems {
  const { schema, value, loc } = part;
  const meant = chosenBranch(schema, value);
  if (meant) yield* problemsIn({ ...part, schema: meant });
  else yield problem(loc, wordsOfUnion(schema, value));
}

function* problemsInMembers({ schema, loc, isText }: Part, members: Node): Problems {
  const { properties, additionalProperties, required } = schema;
  const described = isNode(properties) ? properties : {};
  for (const [name, member] of Object.entries(described)) {
    const memberLoc = [...loc, name];
    if (Object.hasOwn(members, name)) {
      if (isNode(member)) yield* problemsIn({ schema: member, value: members[name], loc: memberLoc, isText });
    } else if (Array.isArray(required) && required.includes(name)) yield problem(memberLoc, MISSING);
  }
  if (additionalProperties === undefined || additionalProperties === true) return;
  for (const name of Object.keys(members)) {
    if (Object.hasOwn(described, name)) continue;
    const memberLoc = [...loc, name];
    if (!isNode(additionalProperties)) yield problem(memberLoc, EXTRA);
    else yield* problemsIn({ schema: additionalProperties, value: members[name], loc: memberLoc, isText });
  }
}

/** As in pydantic: a list that is too long has only this problem; in one that is too short, its items come first. */
function* problemsInItems({ schema, loc, isText }: Part, list: readonly unknown[]): Problems {
  const { items, minItems, maxItems } = schema;
  if (typeof maxItems === 'number' && list.length > maxItems) {
    yield problem(loc, WORDS.maxItems(maxItems));
    return;
  }
  let doFit = true;
  for (const [index, value] of list.entries()) {
    if (!isNode(items) || fits(items, value)) continue;
    doFit = false;
    yield* problemsIn({ schema: items, value, loc: [...loc, index], isText });
  }
  if (doFit && typeof minItems === 'number' && list.length < minItems) {
    yield problem(loc, WORDS.minItems(minItems));
  }
}

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
const wordsOfUnion = (union: Node, value: unknown): Words => {
  const tag = tagOf(union);
  if (tag === undefined) return NOT_AS_DESCRIBED;
  if (!isRecord(value)) return NO_OBJECT;
  const tags = branchesOf(union).map((branch) => constantOf(branch, tag));
  return wrongTag(tag, tags, Object.hasOwn(value, tag));
};

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

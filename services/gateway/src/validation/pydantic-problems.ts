import type { TSchema } from 'typebox';
import { invalid, type Invalid } from '../http/refusal.ts';
import { errorsOf, fits } from './compiled.ts';
import { isNode, isRecord, type Node } from './node.ts';
import {
  EXTRA,
  MISSING,
  NOT_AS_DESCRIBED,
  ownWords,
  tooFewItems,
  tooManyItems,
  wordsOf,
  type Words,
} from './pydantic-words.ts';
import { chosenBranch, wordsOfUnion } from './union-branch.ts';

/** A refusal lists at most this number of problems. A request may have 256 inputs. */
export const MAX_PROBLEMS = 1_000;

/** All parts except the body are text. */
export type Source = 'path' | 'query' | 'header' | 'body';

/**
 * What is wrong with a value, in the form of the run API, section 2.4, and the words of pydantic 2: in the order of the
 * schema, one problem for each location. Empty if and only if the value fits.
 *
 * The compiled schema says whether a part fits. The search descends into parts that do not fit, as deeply as the schema,
 * never as deeply as the value.
 */
export const pydanticProblems = (schema: TSchema, value: unknown, source: Source): Invalid[] => {
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
    yield problem(loc, error ? wordsOf({ error, schema, value, isText }) : NOT_AS_DESCRIBED);
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
    yield problem(loc, tooManyItems(maxItems, list.length));
    return;
  }
  let doFit = true;
  for (const [index, value] of list.entries()) {
    if (!isNode(items) || fits(items, value)) continue;
    doFit = false;
    yield* problemsIn({ schema: items, value, loc: [...loc, index], isText });
  }
  if (doFit && typeof minItems === 'number' && list.length < minItems) {
    yield problem(loc, tooFewItems(minItems, list.length));
  }
}

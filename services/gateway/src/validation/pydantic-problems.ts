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

/** A request may have 256 inputs, and the refusal lists all that is wrong, up to this limit. */
export const MOST_PROBLEMS = 1_000;

/** All but a body come as text. */
export type Source = 'path' | 'query' | 'header' | 'body';

/**
 * What is wrong with a value that should fit a schema, in the form of the run API, section 2.4, and the words of
 * pydantic 2: in the order of the schema, for each place the first thing only. Empty if and only if it fits.
 *
 * The compiled schema says whether a part fits; the search goes down into those that do not, as deep as the schema is,
 * never as deep as the value.
 */
export const pydanticProblems = (schema: TSchema, value: unknown, source: Source): Invalid[] => {
  if (!isNode(schema)) throw new TypeError('A schema is an object');
  const found = problemsIn({ schema, value, loc: [source], isText: source !== 'body' });
  const problems = found.take(MOST_PROBLEMS).toArray();
  return problems.length > 0 || fits(schema, value) ? problems : [said([source], NOT_AS_DESCRIBED)];
};

interface Part {
  readonly schema: Node;
  readonly value: unknown;
  readonly loc: Invalid['loc'];
  readonly isText: boolean;
}

type Problems = Generator<Invalid, void, undefined>;

const said = (loc: Invalid['loc'], { type, msg }: Words): Invalid => invalid(loc, type, msg);

function* problemsIn(part: Part): Problems {
  const { schema, value, loc, isText } = part;
  if (fits(schema, value)) return;
  const words = ownWords(schema);
  if (words) yield said(loc, words);
  else if (schema['anyOf'] !== undefined) yield* problemsInUnion(part);
  else if (isNode(schema['properties']) && isRecord(value)) yield* problemsInMembers(part, value);
  else if (isNode(schema['items']) && Array.isArray(value)) yield* problemsInItems(part, value);
  else {
    const errors = errorsOf(schema, value).filter(({ instancePath }) => instancePath === '');
    // What is none of the words that are allowed is that first, whatever its type.
    const error = errors.find(({ keyword }) => keyword === 'const' || keyword === 'enum') ?? errors[0];
    yield said(loc, error ? wordsOf({ error, schema, value, isText }) : NOT_AS_DESCRIBED);
  }
}

/** Of a union that nothing fits, only the branch that was meant explains why. */
function* problemsInUnion(part: Part): Problems {
  const { schema, value, loc } = part;
  const meant = chosenBranch(schema, value);
  if (meant) yield* problemsIn({ ...part, schema: meant });
  else yield said(loc, wordsOfUnion(schema, value));
}

function* problemsInMembers({ schema, loc, isText }: Part, members: Node): Problems {
  const { properties, additionalProperties, required } = schema;
  const described = isNode(properties) ? properties : {};
  for (const [name, member] of Object.entries(described)) {
    const place = [...loc, name];
    if (Object.hasOwn(members, name)) {
      if (isNode(member)) yield* problemsIn({ schema: member, value: members[name], loc: place, isText });
    } else if (Array.isArray(required) && required.includes(name)) yield said(place, MISSING);
  }
  if (additionalProperties === undefined || additionalProperties === true) return;
  for (const name of Object.keys(members)) {
    if (Object.hasOwn(described, name)) continue;
    const place = [...loc, name];
    if (!isNode(additionalProperties)) yield said(place, EXTRA);
    else yield* problemsIn({ schema: additionalProperties, value: members[name], loc: place, isText });
  }
}

/** As pydantic has it: of a list that is too long, only that; of one that is too short, its items first. */
function* problemsInItems({ schema, loc, isText }: Part, list: readonly unknown[]): Problems {
  const { items, minItems, maxItems } = schema;
  if (typeof maxItems === 'number' && list.length > maxItems) {
    yield said(loc, tooManyItems(maxItems, list.length));
    return;
  }
  let doFit = true;
  for (const [index, value] of list.entries()) {
    if (!isNode(items) || fits(items, value)) continue;
    doFit = false;
    yield* problemsIn({ schema: items, value, loc: [...loc, index], isText });
  }
  if (doFit && typeof minItems === 'number' && list.length < minItems) {
    yield said(loc, tooFewItems(minItems, list.length));
  }
}

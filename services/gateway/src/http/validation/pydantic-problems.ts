import type { TSchema } from 'typebox';
import type { TValidationError } from 'typebox/error';
import { invalid, type Invalid } from '../problem.ts';
import { isNode, own, type Node } from './node.ts';
import { refusalOf, type RefusedValue } from './pydantic-words.ts';
import { chosenBranch } from './union-branch.ts';

export interface Refusing {
  readonly schema: TSchema;
  /** What does not fit the schema. */
  readonly value: unknown;
  readonly errors: readonly TValidationError[];
  /** `body`, `path`, `query` or `header`: all but a body come as text. */
  readonly source: string;
}

/**
 * What a compiled schema says of a value, in the form of the run API, section 2.4, and the words of pydantic 2: for
 * each place the first thing that is wrong with it.
 */
export const pydanticProblems = ({ schema, value, errors, source }: Refusing): Invalid[] => {
  const problems: Invalid[] = [];
  const seen = new Set<string>();
  for (const error of errors.filter((error) => isOfChosenBranch(error, errors, schema, value))) {
    const { value: at, loc } = follow(value, error.instancePath);
    const place = [source, ...loc];
    for (const { within = [], type, msg } of refusalOf(refusedValue(error, schema, at, source))) {
      const name = JSON.stringify([...place, ...within]);
      if (seen.has(name)) continue;
      seen.add(name);
      problems.push(invalid([...place, ...within], type, msg));
    }
  }
  return problems;
};

const refusedValue = (
  error: TValidationError,
  schema: TSchema,
  value: unknown,
  source: string,
): RefusedValue => ({ error, node: nodeAt(schema, error.schemaPath), value, isText: source !== 'body' });

/** Of a union that nothing fits, only the branch that was meant explains why. */
const isOfChosenBranch = (
  error: TValidationError,
  errors: readonly TValidationError[],
  schema: TSchema,
  value: unknown,
): boolean =>
  errors.every((union) => {
    if (union.keyword !== 'anyOf') return true;
    const branches = `${union.schemaPath}/anyOf/`;
    const node = nodeAt(schema, union.schemaPath);
    const chosen = chosenBranch(node, follow(value, union.instancePath).value);
    if (error === union) return chosen === undefined;
    const isInside =
      error.schemaPath.startsWith(branches) && isAtOrUnder(error.instancePath, union.instancePath);
    if (!isInside) return true;
    return chosen !== undefined && isAtOrUnder(error.schemaPath, `${branches}${chosen}`);
  });

const isAtOrUnder = (path: string, of: string): boolean => path === of || path.startsWith(`${of}/`);

const tokensOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

const nodeAt = (schema: TSchema, schemaPath: string): Node => {
  let node: unknown = schema;
  for (const token of tokensOf(schemaPath)) node = own(node, token);
  return isNode(node) ? node : {};
};

/** The value at a JSON pointer, and the names and positions that lead to it. */
const follow = (
  value: unknown,
  pointer: string,
): { readonly value: unknown; readonly loc: readonly (string | number)[] } => {
  let at = value;
  const loc: (string | number)[] = [];
  for (const token of tokensOf(pointer)) {
    loc.push(Array.isArray(at) ? Number(token) : token);
    at = own(at, token);
  }
  return { value: at, loc };
};

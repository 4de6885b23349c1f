import type { WorkflowInput } from '@runledger/contracts/catalogue/records';
import { WARNING_HEADER } from '@runledger/contracts/http/headers/warning';
import type { JsonObject } from '@runledger/contracts/json';
import type { Context } from 'koa';
import { invalid, type Invalid } from '../../http/refusal.ts';
import { nearestName } from '../../names/nearest-name.ts';
import { pathText } from '../../validation/ignored-members.ts';
import { EXTRA } from '../../validation/pydantic-words.ts';

/** A name in the inputs of a request that a version does not define. */
export interface UnknownInput {
  readonly name: string;
  /** The one that is probably meant. */
  readonly meant: string | undefined;
}

/** None for a version that defines no inputs: then every name is its own. */
export const unknownInputs = (
  definitions: readonly Pick<WorkflowInput, 'name'>[],
  inputs: JsonObject,
): UnknownInput[] => {
  if (definitions.length === 0) return [];
  const known = definitions.map(({ name }) => name);
  const free = known.filter((name) => !Object.hasOwn(inputs, name));
  return Object.keys(inputs)
    .filter((name) => !known.includes(name))
    .map((name) => ({ name, meant: nearestName(name, free) }));
};

/** The refusal of names that a strict deployment or request does not permit. */
export const refusedInputs = (unknown: readonly UnknownInput[]): Invalid[] =>
  unknown.map(({ name, meant }) =>
    invalid(
      ['body', 'inputs', name],
      EXTRA.type,
      meant === undefined ? EXTRA.msg : `${EXTRA.msg}; did you mean ${JSON.stringify(meant)}?`,
    ),
  );

/** A response has room for so many. */
const MAX_WARNINGS = 8;

/** Names them in the response, which says that they are passed on. */
export const warnOfInputs = (ctx: Context, unknown: readonly UnknownInput[]): void => {
  const sentences = unknown
    .slice(0, MAX_WARNINGS)
    .map(
      ({ name, meant }) =>
        `unknown input "${pathText([name])}" is passed to the workflow${meant === undefined ? '' : `; did you mean "${pathText([meant])}"?`}`,
    );
  if (sentences.length > 0) ctx.append(WARNING_HEADER, sentences);
};

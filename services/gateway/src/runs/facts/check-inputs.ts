import { readFileValue, type WorkflowInput } from '@runledger/contracts/catalogue/workflow-inputs';
import { WARNING_HEADER } from '@runledger/contracts/http/headers';
import { jsonBytes, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import type { Context } from 'koa';
import {
  FILE_FORMS,
  FILE_LIST,
  ONE_FILE,
  type WrongInput,
} from '../../records/catalogue/input-values.decide.ts';
import { invalid, sentence, Refused, type Invalid } from '../../door/refusal.ts';
import { EXTRA, MISSING, WORDS, wrongType, type Words } from '../../door/words.decide.ts';
import { didYouMean, pathText } from '../../door/unknown-names.ts';
import { nestingProblems } from '../../door/checked-request.ts';
import { isRecord } from '../../door/compiled.ts';
import type { BeyondBound } from './request-bounds.decide.ts';

/** Inputs that do not fit their definitions, as a client sees it. */
export const invalidInputs = (wrong: readonly WrongInput[]): Invalid[] =>
  wrong.map((input) => {
    const { type, msg } = wordsOf(input);
    const item = input.kind === 'no_file' && input.item !== undefined ? [input.item] : [];
    return invalid(['body', 'inputs', input.name, ...item], type, msg);
  });

const noFile = (why: string): Words => ({ type: 'value_error', msg: sentence(why) });

const wordsOf = (wrong: WrongInput): Words => {
  switch (wrong.kind) {
    case 'missing':
      return MISSING;
    case 'wrong_type':
      return wrongType({ type: wrong.type }, wrong.value);
    case 'no_file':
      return noFile(FILE_FORMS);
    case 'one_file':
      return noFile(ONE_FILE);
    case 'file_list':
      return noFile(FILE_LIST);
    case 'too_few_items':
      return WORDS.minItems(wrong.limit);
    case 'too_many_items':
      return WORDS.maxItems(wrong.limit);
    case 'not_listed':
      return WORDS.enum(wrong.values);
    case 'below_minimum':
      return WORDS.minimum(wrong.minimum);
    case 'above_maximum':
      return WORDS.maximum(wrong.maximum);
    case 'too_short':
      return WORDS.minLength(wrong.length);
    case 'too_long':
      return WORDS.maxLength(wrong.length);
  }
};

/** A name in the inputs of a request that a version does not define. */
export interface UnknownInput {
  readonly name: string;
  /** The names that the version defines, and the request does not have. */
  readonly free: readonly string[];
}

/** None for a version that defines no inputs: then every name is its own. */
export const unknownInputs = (definitions: readonly WorkflowInput[], inputs: JsonObject): UnknownInput[] => {
  if (definitions.length === 0) return [];
  const known = definitions.map(({ name }) => name);
  const free = known.filter((name) => !Object.hasOwn(inputs, name));
  return Object.keys(inputs)
    .filter((name) => !known.includes(name))
    .map((name) => ({ name, free }));
};

/** The refusal of names that a strict deployment or request does not permit. */
export const refusedInputs = (unknown: readonly UnknownInput[]): Invalid[] =>
  unknown.map(({ name, free }) =>
    invalid(['body', 'inputs', name], EXTRA.type, `${EXTRA.msg}${didYouMean(name, free)}`),
  );

/** A response has room for so many. */
const MAX_WARNINGS = 8;

/** Names them in the response, which says that they are passed on. */
export const warnOfInputs = (ctx: Context, unknown: readonly UnknownInput[]): void => {
  const sentences = unknown
    .slice(0, MAX_WARNINGS)
    .map(
      ({ name, free }) =>
        `unknown input "${pathText([name])}" is passed to the workflow${didYouMean(name, free, (near) => `"${pathText([near])}"`)}`,
    );
  if (sentences.length > 0) ctx.append(WARNING_HEADER, sentences);
};

interface InputsConfig {
  readonly RUNLEDGER_INPUTS_MAX: number;
  readonly RUNLEDGER_INPUTS_MAX_BYTES: number;
  readonly RUNLEDGER_INPUT_NAME_MAX: number;
}

/** What is wrong with inputs beyond their types. @throws {Refused} for too many inputs or too large ones */
export const inputsProblems = (value: unknown, config: InputsConfig): Invalid[] => {
  if (!isRecord(value)) return [];
  // It comes from a JSON body.
  const inputs = value as JsonObject;
  const names = Object.keys(inputs);
  if (names.length > config.RUNLEDGER_INPUTS_MAX) {
    throw new Refused({
      code: 'too_many_inputs',
      why: `A run may have at most ${config.RUNLEDGER_INPUTS_MAX} inputs`,
    });
  }
  const most = config.RUNLEDGER_INPUT_NAME_MAX;
  const problems = names.flatMap((name): Invalid[] => {
    if (isAtMost(most, name)) return nestingProblems(inputs[name], ['body', 'inputs', name]);
    const loc = ['body', 'inputs', beginning(name, most)];
    const { type, msg } = WORDS.maxLength(most);
    return [invalid([...loc, '[key]'], type, msg), ...nestingProblems(inputs[name], loc)];
  });
  const isShallow = !problems.some(({ type }) => type === 'json_invalid');
  // A data URL becomes a file, unless its input has no definition: then it is counted when the run is accepted.
  if (isShallow && jsonBytes(withoutDataUrls(inputs)) > config.RUNLEDGER_INPUTS_MAX_BYTES) {
    throw new Refused({
      code: 'inputs_too_large',
      why: `All inputs of a run together may have at most ${config.RUNLEDGER_INPUTS_MAX_BYTES} bytes as JSON`,
    });
  }
  return problems;
};

const withoutDataUrls = (inputs: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(inputs)
      .filter(([, value]) => !isDataUrl(value))
      .map(([name, value]) => [
        name,
        Array.isArray(value) ? value.filter((item) => !isDataUrl(item)) : value,
      ]),
  );

const isDataUrl = (value: JsonValue): boolean => readFileValue(value)?.kind === 'data';

/** Counts characters as Unicode and pydantic do: an emoji outside the first plane is one. */
const isAtMost = (most: number, text: string): boolean =>
  text.length <= most || (text.length <= 2 * most && Array.from(text).length <= most);

const beginning = (text: string, count: number): string =>
  Array.from(text.slice(0, 2 * count))
    .slice(0, count)
    .join('');

/** Values that the deployment does not allow, as a client sees it: which setting of it bounds them, and what to do. */
export const invalidBounds = (beyond: readonly BeyondBound[]): Invalid[] =>
  beyond.map(({ member, kind, bound, setting }) => {
    const { type, msg } = kind === 'below_minimum' ? WORDS.minimum(Number(bound)) : WORDS.maximum(bound);
    return invalid(
      ['body', member],
      type,
      `${msg}, as \`${setting}\` of the deployment says, or change the deployment`,
    );
  });

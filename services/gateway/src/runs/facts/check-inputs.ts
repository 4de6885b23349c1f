import { numberText } from '@runledger/contracts/exact-number';
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
import { invalid, Refused, type Invalid } from '../../door/refusal.ts';
import {
  aboveMaximum,
  belowMinimum,
  MISSING,
  notListed,
  tooFewItems,
  tooManyItems,
  wrongType,
  EXTRA,
  type Words,
} from '../../door/pydantic-words.decide.ts';
import { nearestName } from '../../door/nearest-name.ts';
import { pathText } from '../../door/ignored-members.ts';
import { nestingProblems } from '../../door/checked-request.ts';
import { isRecord } from '../../door/compiled.ts';
import type { BeyondBound } from './request-bounds.decide.ts';
import type { GatewayConfig } from '../../config.ts';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { BlobDamaged, BlobStoreFull, type BlobStore } from '@runledger/blob-store/blob-store';
import type { InlineOrBlob } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';
import type { Logger } from '@runledger/event-log/connect/observability';
import type { BlobQuota } from '../../records/quotas/blob-quota.ts';
import type { KeptInputs } from './queue-run.decide.ts';

/** Inputs that do not fit their definitions, as a client sees it. */
export const invalidInputs = (wrong: readonly WrongInput[]): Invalid[] =>
  wrong.map((input) => {
    const { type, msg } = wordsOf(input);
    const item = input.kind === 'no_file' && input.item !== undefined ? [input.item] : [];
    return invalid(['body', 'inputs', input.name, ...item], type, msg);
  });

/** What is wrong with a file, and what to do. */
export const noFile = (why: string): Words => ({ type: 'value_error', msg: `Value error, ${why}` });

const wrongLength = (kind: 'too_short' | 'too_long', length: number): Words => ({
  type: `string_${kind}`,
  msg: `String should have at ${kind === 'too_short' ? 'least' : 'most'} ${length} characters`,
});

const wordsOf = (wrong: WrongInput): Words => {
  switch (wrong.kind) {
    case 'missing':
      return MISSING;
    case 'wrong_type':
      return wrongType({ schema: { type: wrong.type }, value: wrong.value, isText: false });
    case 'no_file':
      return noFile(FILE_FORMS);
    case 'one_file':
      return noFile(ONE_FILE);
    case 'file_list':
      return noFile(FILE_LIST);
    case 'too_few_items':
      return tooFewItems(wrong.limit, wrong.count);
    case 'too_many_items':
      return tooManyItems(wrong.limit, wrong.count);
    case 'not_listed':
      return notListed(wrong.values);
    case 'below_minimum':
      return belowMinimum(numberText(wrong.minimum));
    case 'above_maximum':
      return aboveMaximum(numberText(wrong.maximum));
    case 'too_short':
    case 'too_long':
      return wrongLength(wrong.kind, wrong.length);
  }
};

/** A name in the inputs of a request that a version does not define. */
export interface UnknownInput {
  readonly name: string;
  /** The one that is probably meant. */
  readonly meant: string | undefined;
}

/** None for a version that defines no inputs: then every name is its own. */
export const unknownInputs = (definitions: readonly WorkflowInput[], inputs: JsonObject): UnknownInput[] => {
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

type InputsConfig = Pick<
  GatewayConfig,
  'RUNLEDGER_INPUTS_MAX' | 'RUNLEDGER_INPUTS_MAX_BYTES' | 'RUNLEDGER_INPUT_NAME_MAX'
>;

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
  const problems = names.flatMap((name) => inputProblems(name, inputs[name], config));
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

const inputProblems = (
  name: string,
  value: unknown,
  { RUNLEDGER_INPUT_NAME_MAX: inputNameLength }: InputsConfig,
): Invalid[] => {
  const problems: Invalid[] = [];
  const isLong = !isAtMost(inputNameLength, name);
  const loc = ['body', 'inputs', isLong ? beginning(name, inputNameLength) : name];
  if (isLong) {
    const msg = `String should have at most ${inputNameLength} characters`;
    problems.push(invalid([...loc, '[key]'], 'string_too_long', msg));
  }
  return [...problems, ...nestingProblems(value, loc)];
};

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
    const { type, msg } = kind === 'below_minimum' ? belowMinimum(Number(bound)) : aboveMaximum(bound);
    return invalid(
      ['body', member],
      type,
      `${msg}, as \`${setting}\` of the deployment says. Send such a value, or change the deployment`,
    );
  });

/** What one request may store. */
interface InputBounds {
  readonly org_id: OrgId;
  /** The largest inputs, as JSON, that the first fact of the run has room for. */
  readonly maxInlineBytes: number;
  /** The most bytes that inputs may have as JSON. */
  readonly maxBytes: number;
}

type Kept =
  /** `blob`: the bytes of inputs that became a blob. */
  | { readonly kind: 'kept'; readonly inputs: KeptInputs; readonly blob?: Uint8Array }
  /** The blob of the earlier run has expired, or is damaged. */
  | { readonly kind: 'inputs_gone' }
  | { readonly kind: 'inputs_store_full' }
  /** With the defaults of its version they are too large. */
  | { readonly kind: 'inputs_too_large'; readonly limit: number }
  /** The organisation would exceed its quota. */
  | { readonly kind: 'inputs_over_quota' };

/**
 * Small inputs stay in the first fact of a run. Larger ones become a blob, which is stored before the fact; a blob whose fact is
 * never stored is erased after an hour.
 * @throws {LogUnavailable}
 */
export const keepInputs = async (
  logger: Logger,
  blobs: BlobStore,
  quota: BlobQuota,
  inputs: InlineOrBlob<JsonObject>,
  { org_id, maxInlineBytes, maxBytes }: InputBounds,
): Promise<Kept> => {
  try {
    const bytes =
      inputs.kind === 'blob' ? await blobs.get(org_id, inputs.ref.sha256) : jsonBlob(inputs.value);
    if (!bytes) return { kind: 'inputs_gone' };
    if (inputs.kind === 'inline') {
      if (bytes.byteLength > maxBytes) return { kind: 'inputs_too_large', limit: maxBytes };
      if (bytes.byteLength <= maxInlineBytes)
        return { kind: 'kept', inputs: { inputs: inputs.value, inputs_blob: null } };
    }
    const ref = await quota.put(org_id, bytes);
    return ref === 'over_quota'
      ? { kind: 'inputs_over_quota' }
      : { kind: 'kept', inputs: { inputs: null, inputs_blob: ref }, blob: bytes };
  } catch (error) {
    if (error instanceof BlobStoreFull) {
      logger.error({ err: error, org_id }, 'the inputs of a run do not fit into their store');
      return { kind: 'inputs_store_full' };
    }
    if (!(error instanceof BlobDamaged)) throw error;
    logger.error({ err: error, org_id }, 'the inputs of a run that is run again are damaged');
    return { kind: 'inputs_gone' };
  }
};

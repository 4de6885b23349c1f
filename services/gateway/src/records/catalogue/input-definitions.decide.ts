import { comfyuiNodes } from '@runledger/contracts/catalogue/comfyui-workflow';
import {
  isFileInputType,
  isFileListType,
  type WorkflowInput,
} from '@runledger/contracts/catalogue/workflow-inputs';
import type { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflows';
import { isJsonObject, jsonBytes } from '@runledger/contracts/json';
import {
  compareNumbers,
  isJsonNumber,
  numberOf,
  numberText,
  type JsonNumber,
} from '@runledger/contracts/exact-number';
import { MAX_FILE_INPUTS_BYTES, MAX_INPUT_FILES, SECRET_INPUTS_BYTES } from '@runledger/contracts/limits';
import {
  FILE_FORMS,
  FILE_LIST,
  ONE_FILE,
  drawnBounds,
  valueAs,
  wrongValue,
  type ValueRules,
  type WrongValue,
} from './input-values.decide.ts';

export interface DefinitionProblem {
  readonly index: number;
  readonly member: keyof NewInputDefinition;
  readonly why: string;
}

/** What is wrong with input definitions beyond the types of their members. */
export const definitionProblems = (
  definitions: Iterable<readonly [index: number, definition: NewInputDefinition]>,
  workflow: unknown,
): DefinitionProblem[] => {
  const problems: DefinitionProblem[] = [];
  const names = new Map<string, number>();
  const named: NamedInputs = { files: [], secrets: [] };
  for (const [index, requested] of definitions) {
    const first = names.get(requested.name);
    if (first === undefined) names.set(requested.name, index);
    else
      problems.push({
        index,
        member: 'name',
        why: `input ${first} has this name already. Name each input once`,
      });
    const definition = inputDefinition(requested);
    if (isTooMuch(named, definition)) problems.push({ index, member: 'name', why: TOO_MANY_NAMES });
    for (const [member, why] of [
      ...secretProblems(definition),
      ...rulesProblems(definition),
      ...itemsProblems(definition),
      ...defaultProblems(definition),
      ...randomProblems(definition),
      ...targetProblems(definition, workflow),
    ])
      problems.push({ index, member, why });
  }
  return problems;
};

/** Each run has these names in its first fact. */
interface NamedInputs {
  readonly files: string[];
  readonly secrets: string[];
}

/** Adds the name of a file or a secret. */
const isTooMuch = ({ files, secrets }: NamedInputs, { name, type, secret }: WorkflowInput): boolean => {
  if (isFileInputType(type)) files.push(name);
  else if (secret) secrets.push(name);
  else return false;
  const secretBytes = secrets.length === 0 ? 0 : SECRET_INPUTS_BYTES + jsonBytes(secrets);
  return jsonBytes(files) + secretBytes > MAX_FILE_INPUTS_BYTES;
};

const TOO_MANY_NAMES = `the names of all inputs that are files or secret may have at most ${MAX_FILE_INPUTS_BYTES} bytes as JSON, with ${SECRET_INPUTS_BYTES} for secrets: shorten them`;

/** The definition itself is shown to everybody who may read workflows. */
const secretProblems = ({ type, secret, default: value, enum: values }: WorkflowInput): MemberProblem[] => {
  if (!secret) return [];
  const problems: MemberProblem[] = [];
  if (type !== 'string') problems.push(['secret', 'only an input of type string may be secret']);
  if (value !== undefined)
    problems.push(['default', 'the definition shows it, so a secret input has none: leave it out']);
  if (values)
    problems.push(['enum', 'the definition shows the values, so a secret input has none: leave it out']);
  return problems;
};

const targetProblems = ({ node, field }: WorkflowInput, workflow: unknown): MemberProblem[] => {
  if (node === undefined && field === undefined) return [];
  if (node === undefined)
    return [['node', 'the field belongs to a node. Name the node, or leave out the field']];
  if (field === undefined)
    return [
      ['field', 'the node has several fields. Name the one that takes the value, or leave out the node'],
    ];
  const nodes = comfyuiNodes(workflow);
  const found = isJsonObject(nodes) && Object.hasOwn(nodes, node) ? nodes[node] : undefined;
  return isJsonObject(found) && isJsonObject(found['inputs'])
    ? []
    : [['node', `the workflow has no node "${node}" with inputs. Name a node of the workflow by its id`]];
};

type MemberProblem = readonly [member: DefinitionProblem['member'], why: string];

const rulesProblems = ({ enum: values, ...bounds }: ValueRules): MemberProblem[] => {
  const { type, minimum, maximum } = bounds;
  const isNumber = type === 'integer' || type === 'number';
  const problems: MemberProblem[] = [];
  if (minimum !== undefined && !isNumber) problems.push(['minimum', NUMBERS_ONLY]);
  if (maximum !== undefined && !isNumber) problems.push(['maximum', NUMBERS_ONLY]);
  else if (minimum !== undefined && maximum !== undefined && compareNumbers(maximum, minimum) < 0)
    problems.push(['maximum', `it is below the minimum of ${numberText(minimum)}, so no value fits`]);
  if (values && !isNumber && type !== 'string') problems.push(['enum', `${NUMBERS_ONLY}, or of type string`]);
  else if (values) problems.push(...listProblems(values, bounds));
  return problems;
};

const itemsProblems = ({ type, min_items: least, max_items: most }: ValueRules): MemberProblem[] => {
  const isList = type === 'array' || isFileListType(type);
  const problems: MemberProblem[] = [];
  if (least !== undefined && !isList) problems.push(['min_items', LISTS_ONLY]);
  if (most !== undefined && !isList) problems.push(['max_items', LISTS_ONLY]);
  else if (least !== undefined && most !== undefined && most < least)
    problems.push(['max_items', `it is below the min_items of ${least}, so no value fits`]);
  if (!isFileListType(type)) return problems;
  if ((least ?? 0) > MAX_INPUT_FILES) problems.push(['min_items', TOO_MANY_FILES]);
  if ((most ?? 0) > MAX_INPUT_FILES) problems.push(['max_items', TOO_MANY_FILES]);
  return problems;
};

const LISTS_ONLY =
  'only an input that is a list may have it: one of type array, file[], image[], audio[] or video[]';
const TOO_MANY_FILES = `the inputs of a run name at most ${MAX_INPUT_FILES} files`;

/** Of the first value that no run could have. */
const listProblems = (values: NonNullable<ValueRules['enum']>, bounds: ValueRules): MemberProblem[] => {
  for (const value of values) {
    const wrong = wrongValue(bounds, value);
    if (wrong) return [['enum', `${JSON.stringify(value)} does not fit: ${whyWrong(wrong)}`]];
  }
  return [];
};

const NUMBERS_ONLY = 'only an input of type integer or number may have it';

const defaultProblems = (definition: WorkflowInput): MemberProblem[] => {
  if (definition.default === undefined) return [];
  const wrong = wrongValue(definition, definition.default);
  return wrong ? [['default', `the default does not fit: ${whyWrong(wrong)}`]] : [];
};

/** Both bounds are exact, so that a drawn value is one that the definition permits. */
const randomProblems = (definition: WorkflowInput): MemberProblem[] => {
  const { random, type, default: value, enum: values } = definition;
  if (!random) return [];
  if (type !== 'integer') return [['random', 'only an input of type integer may be random']];
  if (value !== undefined) return [['default', 'a random input has none: leave it out, or random']];
  if (values) return [['enum', 'a random input has bounds instead: minimum and maximum']];
  const { lowest, highest } = drawnBounds(definition);
  return lowest <= highest
    ? []
    : [['random', 'its minimum and maximum must leave an integer from -(2^53 - 1) to 2^53 - 1']];
};

const whyWrong = (wrong: WrongValue): string => {
  switch (wrong.kind) {
    case 'wrong_type':
      return `it is not of the type of this input, which is ${wrong.type}`;
    case 'no_file':
      return wrong.item === undefined
        ? `it is no file: ${FILE_FORMS}`
        : `item ${wrong.item} is no file: ${FILE_FORMS}`;
    case 'one_file':
      return ONE_FILE;
    case 'file_list':
      return FILE_LIST;
    case 'too_few_items':
      return `it has ${wrong.count} items, and at least ${wrong.limit} are needed`;
    case 'too_many_items':
      return `it has ${wrong.count} items, and at most ${wrong.limit} are allowed`;
    case 'not_listed':
      return 'it is not in the list of values';
    case 'below_minimum':
      return `it is below the minimum of ${numberText(wrong.minimum)}`;
    case 'above_maximum':
      return `it is above the maximum of ${numberText(wrong.maximum)}`;
    case 'too_short':
      return `it has less than ${wrong.length} characters`;
    case 'too_long':
      return `it has more than ${wrong.length} characters`;
  }
};

/** Definitions as a version stores them: without omitted members. */
export const inputDefinitions = (
  definitions: readonly NewInputDefinition[] | null | undefined,
): WorkflowInput[] => (definitions ?? []).map(inputDefinition);

const inputDefinition = (given: NewInputDefinition): WorkflowInput => {
  const { type, default: value, enum: values } = given;
  return {
    name: given.name,
    type,
    required: given.required ?? false,
    ...(given.secret === true && { secret: true }),
    ...(value === undefined || value === null ? {} : { default: valueAs(type, value) }),
    ...(given.random === true && { random: true }),
    ...(values && { enum: values.map((listed) => listedAs(type, listed)) }),
    ...boundAs('minimum', given.minimum),
    ...boundAs('maximum', given.maximum),
    ...(typeof given.min_items === 'number' && { min_items: given.min_items }),
    ...(typeof given.max_items === 'number' && { max_items: given.max_items }),
    ...(typeof given.node === 'string' && { node: given.node }),
    ...(typeof given.field === 'string' && { field: given.field }),
    ...(typeof given.description === 'string' && { description: given.description }),
  };
};

const listedAs = (type: WorkflowInput['type'], listed: string | JsonNumber): string | JsonNumber => {
  const value = valueAs(type, listed);
  return typeof value === 'string' || isJsonNumber(value) ? value : listed;
};

/** The schema says that a text is one of digits. */
const boundAs = <Name extends 'minimum' | 'maximum'>(
  name: Name,
  bound: string | JsonNumber | null | undefined,
): { readonly [Member in Name]?: JsonNumber } =>
  bound === undefined || bound === null
    ? {}
    : ({ [name]: typeof bound === 'string' ? numberOf(bound) : bound } as {
        readonly [Member in Name]: JsonNumber;
      });

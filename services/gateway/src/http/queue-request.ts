import { GPU_MODELS, isGpuModel } from '@runledger/contracts/gpu';
import { isUuid } from '@runledger/contracts/ids';
import { jsonBytes, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import type { QueueRequest } from '../domain/queue-run.ts';
import { bodyObject, isObject, member, refuse } from './body-object.ts';
import { invalid, Refused, type Invalid } from './problem.ts';
import type { CallbackRules } from './webhook-url.ts';

export interface QueueLimits {
  readonly inputs: number;
  readonly inputsBytes: number;
  readonly inputNameLength: number;
}

const MOST_LEVELS = 32;

/** Checks the body of a queue request (run API, section 2.2) and fills in its defaults. Refuses with all that is wrong. */
export const queueRequest = (
  body: JsonValue | undefined,
  limits: QueueLimits,
  callbacks: Pick<CallbackRules, 'problem'>,
): QueueRequest => {
  if (body === undefined) refuse([invalid(['body'], 'missing', 'Field required')]);
  const fields = bodyObject(body);
  const wrong: Invalid[] = [];
  // In the order in which the fields stand in the specification, and so in the answer.
  const request: QueueRequest = {
    deployment_id: deploymentId(member(fields, 'deployment_id'), wrong),
    inputs: inputs(member(fields, 'inputs'), limits, wrong),
    webhook: webhook(member(fields, 'webhook'), callbacks, wrong),
    webhook_intermediate_status: intermediate(member(fields, 'webhook_intermediate_status'), wrong),
    gpu: gpu(member(fields, 'gpu'), wrong),
  };
  if (wrong.length > 0) refuse(wrong);
  return request;
};

const deploymentId = (value: JsonValue | undefined, wrong: Invalid[]): string => {
  const loc = ['body', 'deployment_id'];
  if (value === undefined) {
    wrong.push(invalid(loc, 'missing', 'Field required'));
  } else if (typeof value !== 'string') {
    wrong.push(invalid(loc, 'uuid_type', 'UUID input should be a string, bytes or UUID object'));
  } else {
    const id = value.toLowerCase();
    if (isUuid(id)) return id;
    wrong.push(invalid(loc, 'uuid_parsing', NOT_A_UUID));
  }
  return '';
};

export const NOT_A_UUID =
  'Input should be a valid UUID, of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in hexadecimal digits';

const inputs = (value: JsonValue | undefined, limits: QueueLimits, wrong: Invalid[]): JsonObject => {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) {
    wrong.push(invalid(['body', 'inputs'], 'dict_type', 'Input should be a valid dictionary'));
    return {};
  }
  const members = Object.entries(value);
  if (members.length > limits.inputs) {
    throw new Refused({ kind: 'too_large', why: `A run may have at most ${limits.inputs} inputs` });
  }
  const problems = members.flatMap(([name, input]) => inputProblems(name, input, limits));
  // Only what nests little can be written as JSON without recursion becoming too deep.
  const shallow = !problems.some(({ type }) => type === 'json_invalid');
  if (shallow && jsonBytes(value) > limits.inputsBytes) {
    throw new Refused({
      kind: 'too_large',
      why: `All inputs of a run together may have at most ${limits.inputsBytes} bytes as JSON`,
    });
  }
  wrong.push(...problems);
  return value;
};

const inputProblems = (name: string, value: JsonValue, { inputNameLength }: QueueLimits): Invalid[] => {
  const problems: Invalid[] = [];
  if (name.length > inputNameLength) {
    const loc = ['body', 'inputs', name.slice(0, inputNameLength), '[key]'];
    const msg = `String should have at most ${inputNameLength} characters`;
    problems.push(invalid(loc, 'string_too_long', msg));
  }
  const loc = ['body', 'inputs', name.slice(0, inputNameLength)];
  if (nestsDeeper(value, MOST_LEVELS)) {
    const msg = `Invalid JSON: recursion limit exceeded, an input nests at most ${MOST_LEVELS} levels`;
    problems.push(invalid(loc, 'json_invalid', msg));
  }
  if (value === null || isObject(value)) {
    const msg = 'Input should be a valid string, integer, number, boolean or array';
    problems.push(invalid(loc, 'string_type', msg));
  }
  return problems;
};

/** Without recursion: a body may nest as deep as it is long. */
const nestsDeeper = (value: JsonValue, levels: number): boolean => {
  const open: { readonly value: JsonValue; readonly level: number }[] = [{ value, level: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, level } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (level > levels) return true;
    for (const item of Object.values(value)) open.push({ value: item, level: level + 1 });
  }
  return false;
};

const webhook = (
  value: JsonValue | undefined,
  callbacks: Pick<CallbackRules, 'problem'>,
  wrong: Invalid[],
): string | null => {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') {
    wrong.push(invalid(['body', 'webhook'], 'url_type', 'URL input should be a string or URL'));
    return null;
  }
  const problem = callbacks.problem(value);
  if (problem) wrong.push(problem);
  return value;
};

const intermediate = (value: JsonValue | undefined, wrong: Invalid[]): boolean => {
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  const loc = ['body', 'webhook_intermediate_status'];
  wrong.push(invalid(loc, 'bool_type', 'Input should be a valid boolean'));
  return false;
};

const gpu = (value: JsonValue | undefined, wrong: Invalid[]): QueueRequest['gpu'] => {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && isGpuModel(value)) return value;
  wrong.push(invalid(['body', 'gpu'], 'enum', `Input should be ${GPU_CHOICE}`));
  return null;
};

const quoted = GPU_MODELS.map((model) => `'${model}'`);
const GPU_CHOICE = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1) ?? ''}`;

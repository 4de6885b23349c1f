import { isNestedAtMost, jsonBytes, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import { invalid, Refused, type Invalid } from './problem.ts';
import { isNode } from './validation/node.ts';

export interface InputLimits {
  readonly inputs: number;
  readonly inputsBytes: number;
  readonly inputNameLength: number;
}

const MOST_LEVELS = 32;

/** What is wrong with inputs beyond their types. Refuses what is too much of it. */
export const inputsProblems = (value: unknown, limits: InputLimits): Invalid[] => {
  if (!isNode(value) || Array.isArray(value)) return [];
  // A body is JSON.
  const inputs = value as JsonObject;
  const members = Object.entries(inputs);
  if (members.length > limits.inputs) {
    throw new Refused({ kind: 'too_large', why: `A run may have at most ${limits.inputs} inputs` });
  }
  const problems = members.flatMap(([name, input]) => inputProblems(name, input, limits));
  // Only what nests little can be written as JSON without recursion becoming too deep.
  const isShallow = !problems.some(({ type }) => type === 'json_invalid');
  if (isShallow && jsonBytes(inputs) > limits.inputsBytes) {
    throw new Refused({
      kind: 'too_large',
      why: `All inputs of a run together may have at most ${limits.inputsBytes} bytes as JSON`,
    });
  }
  return problems;
};

const inputProblems = (name: string, value: JsonValue, { inputNameLength }: InputLimits): Invalid[] => {
  const problems: Invalid[] = [];
  const loc = ['body', 'inputs', name.slice(0, inputNameLength)];
  if (name.length > inputNameLength) {
    const msg = `String should have at most ${inputNameLength} characters`;
    problems.push(invalid([...loc, '[key]'], 'string_too_long', msg));
  }
  if (!isNestedAtMost(MOST_LEVELS, value)) {
    const msg = `Invalid JSON: recursion limit exceeded, an input nests at most ${MOST_LEVELS} levels`;
    problems.push(invalid(loc, 'json_invalid', msg));
  }
  return problems;
};

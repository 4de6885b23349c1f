import { readFileValue } from '@runledger/contracts/catalogue/file-inputs';
import { jsonBytes, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import { nestingProblems } from '../../validation/nesting.ts';
import { invalid, Refused, type Invalid } from '../../http/refusal.ts';
import { isRecord } from '../../validation/node.ts';

export interface InputLimits {
  readonly inputs: number;
  readonly inputsBytes: number;
  readonly inputNameLength: number;
}

/** What is wrong with inputs beyond their types. @throws {Refused} for too many inputs or too large ones */
export const inputsProblems = (value: unknown, limits: InputLimits): Invalid[] => {
  if (!isRecord(value)) return [];
  // It comes from a JSON body.
  const inputs = value as JsonObject;
  const names = Object.keys(inputs);
  if (names.length > limits.inputs) {
    throw new Refused({ code: 'too_many_inputs', why: `A run may have at most ${limits.inputs} inputs` });
  }
  const problems = names.flatMap((name) => inputProblems(name, inputs[name], limits));
  const isShallow = !problems.some(({ type }) => type === 'json_invalid');
  // A data URL becomes a file, unless its input has no definition: then it is counted when the run is accepted.
  if (isShallow && jsonBytes(withoutDataUrls(inputs)) > limits.inputsBytes) {
    throw new Refused({
      code: 'inputs_too_large',
      why: `All inputs of a run together may have at most ${limits.inputsBytes} bytes as JSON`,
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

const inputProblems = (name: string, value: unknown, { inputNameLength }: InputLimits): Invalid[] => {
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

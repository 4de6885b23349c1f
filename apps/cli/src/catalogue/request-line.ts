import type { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflows';
import { isFileListType } from '@runledger/contracts/catalogue/workflow-inputs';
import { deploymentIn } from '../runs/run-options.ts';

/** A line for a shell that queues a run. The key stands in an environment variable, not in the history of the shell. */
export const requestLine = (
  url: string,
  deployment: string,
  inputs: readonly NewInputDefinition[],
): string => {
  const body = JSON.stringify({
    ...deploymentIn(deployment),
    inputs: Object.fromEntries(inputs.filter(isNeeded).map((input) => [input.name, exampleOf(input)])),
  });
  return `curl -s ${quoted(`${url}/run/deployment/queue`)} -H "Authorization: Bearer $RUNLEDGER_API_KEY" -H 'Content-Type: application/json' -d ${quoted(body)}`;
};

/** The same with this tool. `FILE` is to be replaced, as are the other values. */
export const queueLine = (deployment: string, inputs: readonly NewInputDefinition[]): string => {
  const examples = inputs.filter(isNeeded).map((input) => {
    const item = isFileListType(input.type) ? '[]' : '';
    return `${input.name}${item}=${wordOf(exampleOf(input))}`;
  });
  const options = examples.map((example) => ` --input ${quoted(example)}`).join('');
  return `runledger queue --watch --deployment ${quoted(deployment)}${options}`;
};

const wordOf = (value: unknown): string => {
  if (value === EXAMPLE_URL || value === EXAMPLE_URLS) return '@FILE';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const EXAMPLE_URL = 'https://example.com/FILE';
const EXAMPLE_URLS = [EXAMPLE_URL];

const quoted = (text: string): string =>
  /^[\w:/.@=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const isNeeded = (input: NewInputDefinition): boolean =>
  input.required === true && (input.default ?? null) === null && input.random !== true;

/** A value that fits the definition, to be replaced. */
const exampleOf = ({ type, enum: values, minimum, maximum }: NewInputDefinition): unknown => {
  const [first] = values ?? [];
  switch (type) {
    case 'string':
      return first ?? 'TEXT';
    case 'integer':
    case 'number':
      return first ?? minimum ?? maximum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'file':
    case 'image':
    case 'audio':
    case 'video':
      return EXAMPLE_URL;
    case 'file[]':
    case 'image[]':
    case 'audio[]':
    case 'video[]':
      return EXAMPLE_URLS;
  }
};

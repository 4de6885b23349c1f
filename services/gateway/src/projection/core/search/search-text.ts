import { isEnded, type Run, type RunRequest } from '@runledger/contracts/fold/run';
import { isJsonObject, type JsonValue } from '@runledger/contracts/json';
import { isJsonNumber, numberText } from '@runledger/contracts/numbers/exact-number';
import { foldedText } from './folded-text.ts';

/** Of the error of a run, in UTF-16 units. */
const MAX_ERROR = 500;
/** Of one input. */
const MAX_VALUE = 1_000;
/** Of all inputs, with their names. */
const MAX_INPUTS = 2_000;

/**
 * What a search looks at in a run: its tags, the message of its error, and its inputs, each name and value in a line of its own. Nothing
 * that readers of the run do not see: of a secret input only the name. Inputs in a blob are not in it. Later facts take nothing away.
 */
export const searchTextOf = (run: Run): string =>
  [
    ...(run.request.tags ?? []).map((tag) => foldedText(tag, MAX_VALUE)),
    ...errorTexts(run),
    ...inputTexts(run.request),
  ].join('\n');

const errorTexts = (run: Run): string[] =>
  isEnded(run) && run.error ? [foldedText(run.error.message, MAX_ERROR)] : [];

const inputTexts = ({ inputs, secret_inputs = [] }: RunRequest): string[] => {
  const lines: string[] = [];
  let left = MAX_INPUTS;
  for (const text of textsIn(inputs, secret_inputs)) {
    if (left <= 0) break;
    const line = foldedText(text, Math.min(left, MAX_VALUE));
    if (line === '') continue;
    lines.push(line);
    left -= line.length + 1;
  }
  return lines;
};

/** Names, texts and numbers, in their order. `hidden`: names whose values are left out. */
function* textsIn(value: JsonValue, hidden: readonly string[] = []): Generator<string, undefined> {
  if (typeof value === 'string') yield value;
  else if (isJsonNumber(value)) yield numberText(value);
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) {
      yield name;
      if (!hidden.includes(name)) yield* textsIn(member);
    }
}

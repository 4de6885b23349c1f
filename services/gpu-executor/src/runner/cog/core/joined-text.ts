import { isJsonObject } from '@runledger/contracts/json';
import { markedFile } from './split-answer.ts';

/** The pieces of one text that grew (`ConcatenateIterator`), joined. Null for an output that cannot be that: its answer looks like a list of texts. */
export const joinedText = (output: unknown, nonce: string): string | null => {
  if (!Array.isArray(output)) return null;
  const pieces: readonly unknown[] = output;
  const texts = pieces.filter((piece) => typeof piece === 'string' && markedFile(nonce, piece) === null);
  return texts.length === pieces.length ? texts.join('') : null;
};

/** Whether the OpenAPI document of a model says that its output is the pieces of one text; null when it says nothing of its output. */
export const schemaJoins = (document: unknown): boolean | null => {
  const output = ['components', 'schemas', 'Output'].reduce<unknown>(
    (at, name) => (isJsonObject(at) ? at[name] : undefined),
    document,
  );
  return isJsonObject(output) ? output['x-cog-array-display'] === 'concatenate' : null;
};

/** The file and the class or function of a model, as `predict.py:Predictor`. */
export interface ModelReference {
  readonly file: string;
  readonly name: string;
}

const REFERENCE = /^([^:\0]+\.py):([A-Za-z_]\w*)$/;
const IN_COG_YAML = /^(?:predict|run):\s*["']?([^"'#\s]+)["']?\s*(?:#.*)?$/m;

/** From `COG_PREDICT_TYPE_STUB`. */
export const readReference = (text: string): ModelReference | null => {
  const [, file, name] = REFERENCE.exec(text) ?? [];
  return file === undefined || name === undefined ? null : { file, name };
};

/** From a file `cog.yaml`. */
export const referenceInCogYaml = (yaml: string): ModelReference | null =>
  readReference(IN_COG_YAML.exec(yaml)?.[1] ?? '');

/** What follows the names of a Python function up to its result, without another function between them. */
const RESULT = String.raw`\s*\((?:(?!\bdef\b)[^])*?\)\s*->\s*["']?(?:\w+\.)*(?:Async)?ConcatenateIterator\b`;
const METHOD = new RegExp(String.raw`^[ \t]+(?:async[ \t]+)?def[ \t]+(?:predict|run)${RESULT}`, 'm');

/** Whether the source of a model annotates its output as the pieces of one text. Comments at the beginning of lines are no code. */
export const sourceJoins = (source: string, name: string): boolean => {
  const code = source.replaceAll(/^[ \t]*#.*$/gm, '');
  const [aClass] =
    new RegExp(String.raw`^class[ \t]+${name}\b[^]*?(?=^[^\s)]|$(?![^]))`, 'm').exec(code) ?? [];
  if (aClass !== undefined) return METHOD.test(aClass);
  return new RegExp(String.raw`^(?:async[ \t]+)?def[ \t]+${name}${RESULT}`, 'm').test(code);
};

import { parseJson } from '@runledger/contracts/json';
import { isJsonNumber } from '@runledger/contracts/exact-number';
import type { Schemas } from '../../api/schemas.ts';

export type InputDefinition = Schemas['InputDefinition'];
export type Inputs = NonNullable<Schemas['DeploymentRunRequest']['inputs']>;

/** What a person entered into the field of an input: text, a file that was uploaded already, by its id, or several of them. */
export type EnteredValue = string | boolean | readonly string[] | undefined;
export type Entered = Readonly<Record<string, EnteredValue>>;

const FILE_TYPES: ReadonlySet<string> = new Set(['file', 'image', 'audio', 'video']);

export const isFileInput = ({ type }: InputDefinition): boolean => FILE_TYPES.has(type);
export const isFileListInput = ({ type }: InputDefinition): boolean => type.endsWith('[]');

/** What the browser offers for an input of this type; undefined for all files. */
export const acceptedFiles = (type: string): string | undefined => {
  const kind = type.replace('[]', '');
  return kind === 'file' ? undefined : `${kind}/*`;
};

/** What stands in a field at first. */
export const presetOf = (definition: InputDefinition): EnteredValue => {
  const { default: preset, type } = definition;
  if (type === 'boolean') return preset === true;
  if (isFileListInput(definition)) return Array.isArray(preset) ? preset.map(String) : undefined;
  if (preset === undefined || preset === null) return undefined;
  return typeof preset === 'string' ? preset : JSON.stringify(preset);
};

/** The inputs of a run from the fields of a form. A field that is empty is left out. Problems are sentences by the name of the input. */
export const inputsOf = (
  definitions: readonly InputDefinition[],
  entered: Entered,
): { readonly inputs: Inputs; readonly problems: Readonly<Record<string, string>> } => {
  const inputs: Inputs = {};
  const problems: Record<string, string> = {};
  for (const definition of definitions) {
    const value = entered[definition.name];
    if (value === undefined || value === '') continue;
    const read =
      typeof value === 'string'
        ? valueOf(definition, value)
        : typeof value === 'boolean'
          ? value
          : [...value];
    if (read === undefined) problems[definition.name] = `Enter ${EXPECTED[definition.type]}.`;
    else inputs[definition.name] = read;
  }
  return { inputs, problems };
};

const EXPECTED: Readonly<Record<InputDefinition['type'], string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'yes or no',
  array: 'a JSON array, such as ["a", "b"]',
  file: 'a file',
  image: 'a picture',
  audio: 'a sound',
  video: 'a video',
  'file[]': 'files',
  'image[]': 'pictures',
  'audio[]': 'sounds',
  'video[]': 'videos',
};

const valueOf = ({ type }: InputDefinition, text: string): Inputs[string] | undefined => {
  switch (type) {
    case 'integer':
      return /^\s*[+-]?\d+\s*$/.test(text) ? numberIn(text) : undefined;
    case 'number':
      return numberIn(text);
    case 'array':
      return arrayIn(text);
    case 'boolean':
    case 'string':
    case 'file':
    case 'image':
    case 'audio':
    case 'video':
      return text;
    case 'file[]':
    case 'image[]':
    case 'audio[]':
    case 'video[]':
      return [text];
  }
};

/** As it is written, where JSON can have it so; people also write `+5`, `007` and `.5`. */
const numberIn = (text: string): Inputs[string] | undefined => {
  const plain = text
    .trim()
    .replace(/^\+/, '')
    .replace(/^(-?)0+(?=\d)/, '$1')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.$/, '');
  const value = parseJson(plain);
  return isJsonNumber(value) ? (value as Inputs[string]) : undefined;
};

const arrayIn = (text: string): unknown[] | undefined => {
  const value = parseJson(text);
  return Array.isArray(value) ? value : undefined;
};

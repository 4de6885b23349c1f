import { isJsonObject } from '@runledger/contracts/json';
import { isExactNumber } from '@runledger/contracts/exact-number';
import { numberedFileName, problemOfFileName, safeFileName } from '@runledger/contracts/file-name';
import { dataText, unnamedEntries } from '../output/program-messages.ts';
import type { RunData } from '../runner.ts';
import { markedFile } from './split-answer.decide.ts';

/** A file of an output and where it goes below the output folder of the run. */
interface NamedFile {
  /** Its number in the answer. */
  readonly number: number;
  /** Folders and the name. */
  readonly path: readonly string[];
}

export interface PredictionOutputs {
  readonly data: RunData;
  readonly files: readonly NamedFile[];
}

/** How the files of one answer are recognised. */
export interface AnswerFiles {
  readonly nonce: string;
  /** Their MIME types, by their numbers. */
  readonly types: readonly string[];
}

const MAX_KIND = 64;

/**
 * The output of a prediction as texts and files. A member of an object becomes a kind of text with its name; without a name a text is of
 * the kind `text`, and one that is a URL of the kind `urls`. Other JSON without a name is of the kind `json`, and with one it is text.
 *
 * A file has the name that its model gave it, where that is known, in the folders of its place. Any other one is named after its place in the output:
 * `output.png`, `output.0.png` in a list, `mask.png` or `masks/left.png` in an object.
 */
export const readOutputs = (
  output: unknown,
  answer: AnswerFiles,
  names: FileNames = new Map(),
): PredictionOutputs => {
  const found: Found = { data: new Map(), files: [], taken: new Set(), answer, names };
  if (isJsonObject(output)) {
    for (const [name, value] of Object.entries(output)) readValues(found, kindOf(name), [name], value);
  } else readValues(found, null, ['output'], output);
  return { data: Object.fromEntries(found.data), files: found.files };
};

interface Found {
  readonly data: Map<string, string[]>;
  readonly files: NamedFile[];
  readonly taken: Set<string>;
  readonly answer: AnswerFiles;
  readonly names: FileNames;
}

/** The names that a model gave files, by the numbers of these. */
export type FileNames = ReadonlyMap<number, string>;

/**
 * A file that is the output, or in its list, has the next of `names`. None has one when there are fewer names than files: then one of these is a
 * data URL that the model made itself, and nobody knows which.
 */
export const namesInOrder = (
  output: unknown,
  { nonce }: AnswerFiles,
  names: readonly string[],
): FileNames => {
  const items: readonly unknown[] = Array.isArray(output) ? output : [output];
  const numbers = items
    .map((item) => (typeof item === 'string' ? markedFile(nonce, item) : null))
    .filter((number) => number !== null);
  return new Map(
    names.length < numbers.length ? [] : numbers.map((number, index) => [number, names[index] ?? '']),
  );
};

const kindOf = (name: string): string => (name === '' || name.length > MAX_KIND ? 'text' : name);

/** A list is several values. */
const readValues = (found: Found, kind: string | null, path: readonly string[], value: unknown): void => {
  const values = Array.isArray(value)
    ? value.map((item: unknown, index) => ({ item, at: indexed(path, index) }))
    : [{ item: value, at: path }];
  const rests = values
    .map(({ item, at }) => withoutFiles(found, at, item))
    .filter((rest) => rest !== undefined);
  // A function that returns nothing has made none.
  if (rests.length === 0 || (rests.length === 1 && rests[0] === null && !Array.isArray(value))) return;
  const entries =
    kind === null ? unnamedEntries(rests) : [[kind, rests.map((rest) => dataText(kind, rest))] as const];
  for (const [own, texts] of entries) found.data.set(own, [...(found.data.get(own) ?? []), ...texts]);
};

const MAX_DEPTH = 8;

const indexed = (path: readonly string[], index: number): string[] => [
  ...path.slice(0, -1),
  `${path.at(-1)}.${index}`,
];

/** The value with the names of its files in their places; undefined when it is nothing but files. */
const withoutFiles = (found: Found, path: readonly string[], value: unknown): unknown => {
  const number = typeof value === 'string' ? markedFile(found.answer.nonce, value) : null;
  if (number !== null) {
    nameFile(found, number, path);
    return undefined;
  }
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) => withoutFiles(found, indexed(path, index), item));
    const rest = items.filter((item) => item !== undefined);
    return rest.length === 0 && items.length > 0 ? undefined : rest;
  }
  const members = Object.entries(value).map(
    ([name, member]) =>
      [name, withoutFiles(found, path.length < MAX_DEPTH ? [...path, name] : path, member)] as const,
  );
  const rest = members.filter(([, member]) => member !== undefined);
  return rest.length === 0 && members.length > 0 ? undefined : Object.fromEntries(rest);
};

const nameFile = ({ files, taken, answer, names }: Found, number: number, path: readonly string[]): void => {
  const parts = path.map(safeName);
  const given = names.get(number);
  const first =
    given === undefined
      ? `${parts.join('/')}${extensionOf(answer.types[number] ?? '')}`
      : [...parts.slice(0, -1), ownName(given)].join('/');
  let file = first;
  for (let again = 2; taken.has(file.toLowerCase()); again += 1) file = numberedFileName(first, again);
  taken.add(file.toLowerCase());
  files.push({ number, path: file.split('/') });
};

/** The name that its model gave a file, if an output may have it. */
const ownName = (name: string): string => (problemOfFileName(name) === null ? name : safeFileName(name));

/** Of letters, digits, dashes and dots, and no hidden one. */
const safeName = (name: string): string =>
  name
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^\.+/, '_')
    .slice(0, 60) || '_';

/** What `mimetypes` of Python makes of the usual extensions, and back. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/gzip': '.gz',
  'application/json': '.json',
  'application/octet-stream': '.bin',
  'application/pdf': '.pdf',
  'application/x-tar': '.tar',
  'application/zip': '.zip',
  'audio/flac': '.flac',
  'audio/mp4': '.m4a',
  'audio/mpeg': '.mp3',
  'audio/ogg': '.ogg',
  'audio/wav': '.wav',
  'audio/x-wav': '.wav',
  'image/avif': '.avif',
  'image/bmp': '.bmp',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/jpg': '.jpg',
  'image/png': '.png',
  'image/svg+xml': '.svg',
  'image/tiff': '.tif',
  'image/webp': '.webp',
  'model/gltf-binary': '.glb',
  'model/gltf+json': '.gltf',
  'text/csv': '.csv',
  'text/html': '.html',
  'text/markdown': '.md',
  'text/plain': '.txt',
  'video/mp4': '.mp4',
  'video/quicktime': '.mov',
  'video/webm': '.webm',
  'video/x-matroska': '.mkv',
};

/** The extension of a file of this MIME type, with its dot. A type without one of its own is named by its second half; none has none. */
const extensionOf = (type: string): string => {
  if (Object.hasOwn(EXTENSIONS, type)) return EXTENSIONS[type] ?? '';
  if (type === '') return '';
  const [, word = ''] = /^[\w.+-]+\/(?:x-)?([a-z0-9]{1,16})$/.exec(type) ?? [];
  return word === '' ? '.bin' : `.${word}`;
};

import { isJsonObject } from '@runledger/contracts/json';

/** A part of an answer, in the order in which the parts come. */
export type AnswerPart =
  /** JSON, with the number of a file in the place of each data URL. */
  | { readonly kind: 'json'; readonly bytes: Uint8Array }
  | { readonly kind: 'file'; readonly type: string }
  /** Bytes of the last file. */
  | { readonly kind: 'content'; readonly bytes: Uint8Array };

/** A string in the JSON of an answer that stands for the file with this number. Nobody who does not know the nonce can write it. */
export const fileMark = (nonce: string, number: number): string => `${nonce}:${number}`;

/** The number of the file that a text stands for; null when it is just a text. */
export const markedFile = (nonce: string, text: string): number | null =>
  text.startsWith(`${nonce}:`) ? Number(text.slice(nonce.length + 1)) : null;

const MAX_HEADER = 256;
const MAX_KEY = 32;
const [QUOTE, BACKSLASH, COMMA, COLON, LINE_END] = [0x22, 0x5c, 0x2c, 0x3a, 0x6e];
const [DEEPER, HIGHER] = [new Set([0x7b, 0x5b]), new Set([0x7d, 0x5d])];
const PREFIX = 'data:';
const DATA_URL = /^data:(?<type>[\w.+-]+\/[\w.+-]+)?(?:;[\w.+-]+=[^;,"\\]*)*;base64$/;

/**
 * Takes the files out of the JSON of a prediction while it comes, so that an answer of any size needs little memory. Files are the data URLs
 * in `output`. All strings in `input` become empty: they are what was sent. Of `logs` only the first lines remain.
 */
export class AnswerSplitter {
  /** `maybe file`: a string of the output that begins like a data URL so far. */
  #within: 'structure' | 'text' | 'dropped' | 'maybe file' | 'file' = 'structure';
  #depth = 0;
  /** The present member of the answer. */
  #member = '';
  /** The last string of the answer itself, which may name a member. */
  #name = '';
  #isEscaped = false;
  #logs = 0;
  #header = '';
  #base64 = '';
  #files = 0;
  #json: number[] = [];
  #parts: AnswerPart[] = [];
  readonly #nonce: string;
  readonly #maxLogs: number;

  constructor(nonce: string, maxLogs: number) {
    this.#nonce = nonce;
    this.#maxLogs = maxLogs;
  }

  push(chunk: Uint8Array): readonly AnswerPart[] {
    this.#parts = [];
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#within !== 'file') {
        this.#take(chunk[at] ?? 0);
        continue;
      }
      const end = chunk.indexOf(QUOTE, at);
      this.#content(chunk.subarray(at, end === -1 ? chunk.length : end), end !== -1);
      at = end === -1 ? chunk.length : end;
    }
    this.#flush();
    return this.#parts;
  }

  #take(byte: number): void {
    if (this.#within === 'structure') this.#structure(byte);
    else if (this.#within === 'maybe file') this.#maybeFile(byte);
    else this.#text(byte);
  }

  #structure(byte: number): void {
    this.#json.push(byte);
    if (DEEPER.has(byte)) this.#depth += 1;
    else if (HIGHER.has(byte)) this.#depth -= 1;
    else if (this.#depth === 1 && byte === COLON) this.#member = this.#name;
    else if (this.#depth === 1 && byte === COMMA) this.#member = '';
    if (byte !== QUOTE) return;
    this.#name = '';
    this.#header = '';
    this.#within = this.#member === 'input' ? 'dropped' : this.#member === 'output' ? 'maybe file' : 'text';
  }

  #text(byte: number): void {
    const wasEscaped = this.#isEscaped;
    this.#isEscaped = byte === BACKSLASH && !wasEscaped;
    const isEnd = byte === QUOTE && !wasEscaped;
    if (isEnd || this.#within === 'text') this.#json.push(byte);
    if (isEnd) this.#within = 'structure';
    else if (this.#member === '' && this.#name.length < MAX_KEY) this.#name += String.fromCodePoint(byte);
    else if (this.#member === 'logs') {
      this.#logs += 1;
      if (wasEscaped && byte === LINE_END && this.#logs > this.#maxLogs) this.#within = 'dropped';
    }
  }

  #maybeFile(byte: number): void {
    const header = this.#header;
    if (byte === COMMA) {
      const url = DATA_URL.exec(header);
      if (url !== null) return this.#beginFile(url.groups?.['type'] ?? '');
    } else if (byte !== QUOTE && byte !== BACKSLASH && header.length < MAX_HEADER) {
      this.#header += String.fromCodePoint(byte);
      if (PREFIX.startsWith(this.#header.slice(0, PREFIX.length))) return;
    }
    for (const each of Buffer.from(header, 'latin1')) this.#json.push(each);
    this.#within = 'text';
    this.#text(byte);
  }

  #beginFile(type: string): void {
    for (const each of Buffer.from(fileMark(this.#nonce, this.#files))) this.#json.push(each);
    this.#flush();
    this.#parts.push({ kind: 'file', type: type.toLowerCase() });
    this.#files += 1;
    this.#within = 'file';
  }

  #content(bytes: Uint8Array, isEnd: boolean): void {
    this.#base64 += Buffer.from(bytes).toString('latin1');
    const length = isEnd ? this.#base64.length : this.#base64.length - (this.#base64.length % 4);
    const content = Buffer.from(this.#base64.slice(0, length), 'base64');
    if (content.length > 0) this.#parts.push({ kind: 'content', bytes: content });
    this.#base64 = this.#base64.slice(length);
    if (!isEnd) return;
    this.#json.push(QUOTE);
    this.#within = 'structure';
  }

  #flush(): void {
    if (this.#json.length > 0) this.#parts.push({ kind: 'json', bytes: Uint8Array.from(this.#json) });
    this.#json = [];
  }
}

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

import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonValue } from '@runledger/contracts/json';
import { readJsonText } from '@runledger/contracts/numbers/read-json-text';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';

const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** Reads a JSON file, or standard input for `-`. `option` is for messages. @throws CommandError */
export type ReadJsonFile = (option: string, name: string) => Promise<JsonValue>;

export interface FileSources {
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array>;
}

export const jsonFiles =
  ({ cwd, stdin }: FileSources): ReadJsonFile =>
  async (option, name) => {
    const shown = name === '-' ? 'standard input' : plain(name);
    const bytes = await readAll(name === '-' ? stdin : createReadStream(resolve(cwd, name)), option, shown);
    if (bytes.byteLength === 0) throw new CommandError(`${option}: ${shown} is empty. It must contain JSON.`);
    return parsed(bytes, option, shown);
  };

const readAll = async (
  from: AsyncIterable<Uint8Array>,
  option: string,
  shown: string,
): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of from) {
      pieces.push(piece);
      length += piece.byteLength;
      if (length > MAX_FILE_BYTES) break;
    }
  } catch (error) {
    throw new CommandError(`${option}: ${shown} cannot be read: ${whyUnreadable(error)}`);
  }
  if (length <= MAX_FILE_BYTES) return Buffer.concat(pieces);
  throw new CommandError(
    `${option}: ${shown} has more than ${MAX_FILE_BYTES / 1024 / 1024} MiB, which is too large. Is it the right file?`,
  );
};

/** For people. */
export const whyUnreadable = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  switch (code) {
    case 'ENOENT':
      return 'the file does not exist. Check the path; - reads standard input.';
    case 'EISDIR':
      return 'it is a folder. Name a file in it.';
    case 'EACCES':
      return 'you have no permission to read it.';
    default:
      return `${code}.`;
  }
};

const parsed = (bytes: Uint8Array, option: string, shown: string): JsonValue => {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CommandError(`${option}: ${shown} cannot be used: it is not UTF-8.`);
  }
  return readJsonOption(text, option, shown);
};

/** The value of a JSON text, with its numbers as they are written. @throws CommandError */
export const readJsonOption = (text: string, option: string, shown: string): JsonValue => {
  const read = readJsonText(text);
  if (read.kind === 'json') return read.value;
  const at = read.position === undefined ? '' : `, ${placeOf(text, read.position)}`;
  throw new CommandError(`${option}: ${shown} cannot be used: ${plain(read.why)}${at}.`);
};

const placeOf = (text: string, position: number): string => {
  const lines = text.slice(0, position).split('\n');
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
};

import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { readJsonText, type JsonValue } from '@runledger/contracts/json';
import { gpuModel, GPU_MODEL_RULE, parseGpuModel } from '@runledger/contracts/gpu';
import { codeOf } from '@runledger/resilience/errors';
import { CommandError, plain } from './command-error.ts';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
]);

/** The seconds of `90`, `90s`, `15m`, `2h` or `30d`; undefined for a missing option. @throws CommandError */
export const secondsOf = (option: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const [, number = '', unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?)([smhd]?)$/.exec(text) ?? [];
  if (number !== '') return Number(number) * (UNITS.get(unit) ?? 1);
  throw new CommandError(
    `${option} ${plain(text)} is not a time. Write seconds, or a number with s, m, h or d, such as 15m.`,
  );
};

/** Undefined for a missing option. @throws CommandError */
export const wholeNumber = (option: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CommandError(`${option} ${plain(text)} is not a whole number.`);
};

/** Undefined for a missing option. @throws CommandError */
export const decimalNumber = (option: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (/^-?\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Number(text);
  throw new CommandError(`${option} ${plain(text)} is not a number.`);
};

/** @throws CommandError */
export const wholeNumberIn = (
  option: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): number => {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= most) return number;
  throw new CommandError(`${option} ${plain(text)} is not a whole number from ${least} to ${most}.`);
};

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
  const code = codeOf(error);
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

/** A model alone may be taken as early as the one before it. */
export type GpuStep = string | { readonly gpu: string; readonly after_s: number };

/**
 * The models of `L4, A10G:60, T4:5m`, in order of preference, each with the time of waiting after which it may be taken; undefined for
 * a missing option.
 *
 * @throws CommandError
 */
export const gpuModelsOf = (option: string, text: string | undefined): GpuStep[] | undefined =>
  text?.split(',').map((step) => {
    const [name = '', time, ...more] = step.split(':').map((part) => part.trim());
    if (parseGpuModel(name) === undefined)
      throw new CommandError(
        name === ''
          ? `${option} ${plain(text)} has an empty place. Write models with commas, such as L4,A10G:60.`
          : `${option}: ${plain(name)} is not a GPU model: ${GPU_MODEL_RULE}.`,
      );
    if (more.length > 0)
      throw new CommandError(
        `${option}: ${plain(step.trim())} has more than one time. Write MODEL or MODEL:TIME, such as A10G:60.`,
      );
    const after_s = secondsOf(`${option} ${gpuModel(name)}:`, time);
    return after_s === undefined ? name : { gpu: name, after_s };
  });

/** The first one. */
export const firstModelOf = (models: readonly GpuStep[] | undefined): string | undefined => {
  const [first] = models ?? [];
  return typeof first === 'object' ? first.gpu : first;
};

/** The tags of a repeated option, which may have commas. */
export const tags = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(',').map((tag) => tag.trim()),
];

/** For a command on one run, or with `--failed` on all that a filter finds. @throws CommandError when neither or both are meant */
export const checkOneOrFailed = (
  { command, what }: { readonly command: string; readonly what: string },
  { run, failed, filter }: OneOrFailed,
): void => {
  if (run === undefined && !failed)
    throw new CommandError(
      `No run was given. Use runledger ${command} RUN, or runledger ${command} --failed for all failed ${what}.`,
    );
  if (run !== undefined && (failed || filter.some((option) => option !== undefined)))
    throw new CommandError(
      'A run and a filter exclude each other. Name only the run, or use --failed without one.',
    );
};

interface OneOrFailed {
  readonly run: string | undefined;
  readonly failed: boolean;
  /** The options of the filter. */
  readonly filter: readonly unknown[];
}

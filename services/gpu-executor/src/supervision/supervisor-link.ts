import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import type { KilledProcesses } from './stray-processes.ts';

/**
 * How the standard streams of a program pass between it and the executor. `relayed`: as messages, so that the supervisor can take the next
 * program. `direct`: as pipes that the supervisor does not read. It has one program then. It gets this as its argument.
 */
export type StreamsKind = 'relayed' | 'direct';

/** The pipe of the messages. */
export const LINK_DESCRIPTOR = 3;
/** Standard input, output and error of the program, when they are `direct`. */
export const DIRECT_DESCRIPTORS = [4, 5, 6] as const;

/**
 * The messages between an executor and a supervisor, in both directions of one pipe: a byte for the kind, four for the length,
 * and the content. Executor and supervisor are of one release.
 */
const KINDS = [
  /** To the supervisor: the program of the next run, as JSON. */
  'start',
  /** To the supervisor: standard input; empty at its end. */
  'input',
  /** To the supervisor: SIGTERM to everything that belongs to the run. The end of the pipe is SIGKILL. */
  'terminate',
  /** From the supervisor, outside of a namespace: the process group of the program, as text. */
  'group',
  /** From the supervisor: output of the program. */
  'stdout',
  'stderr',
  /** From the supervisor: how the program ended, as JSON. No process of the run is left. */
  'ended',
  /** From the supervisor: the output has ended, and it can take the next run. */
  'idle',
] as const;

export type MessageKind = (typeof KINDS)[number];

const HEADER_BYTES = 5;
/** Standard input and output are cut into such pieces. */
export const PIECE_BYTES = 64 * 1024;
/** A command line and an environment are smaller: the system allows a few MiB. */
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;

export const encodeMessage = (kind: MessageKind, content: Buffer | string = ''): Buffer => {
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(KINDS.indexOf(kind));
  header.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
};

/**
 * Cuts what arrives into messages.
 * @throws when it is none; then the other side is not the one that it should be
 */
export const messageReader = (
  onMessage: (kind: MessageKind, content: Buffer) => void,
): ((chunk: Buffer) => void) => {
  let held: Buffer = Buffer.alloc(0);
  return (chunk) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= HEADER_BYTES) {
      const kind = KINDS[held.readUInt8()];
      const end = HEADER_BYTES + held.readUInt32BE(1);
      if (kind === undefined || end > HEADER_BYTES + MAX_CONTENT_BYTES)
        throw new Error('The pipe between executor and supervisor has something else than their messages.');
      if (held.length < end) return;
      const content = held.subarray(HEADER_BYTES, end);
      held = held.subarray(end);
      onMessage(kind, content);
    }
  };
};

/** What a supervisor starts. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where the program runs. */
  readonly folder: string;
}

export type Ending =
  | {
      readonly kind: 'exited';
      readonly code: number | null;
      readonly signal: string | null;
      /** It left no room in the temporary folders in memory. */
      readonly isTemporaryFull?: boolean;
    }
  /** `code` is the system's name of the error: `ENOENT`, `EACCES`, … */
  | { readonly kind: 'not_started'; readonly code: string };

/** How a program ended, and what it left behind outside its process group. */
export type Report = Ending & { readonly strays: KilledProcesses };

export const NO_STRAYS: KilledProcesses = { killed: [], survivors: [] };

export const parseStart = (text: string): Start => {
  const value: unknown = JSON.parse(text);
  if (
    !isJsonObject(value) ||
    typeof value.command !== 'string' ||
    !isStringList(value.args) ||
    !isStringMap(value.env) ||
    typeof value.folder !== 'string'
  )
    throw new Error(
      'The executor told its supervisor to start something invalid. Both are of one release, so this is a bug.',
    );
  return { command: value.command, args: value.args, env: value.env, folder: value.folder };
};

/** Null for what no supervisor reports. */
export const parseReport = (text: string): Report | null => {
  const value = parsePlainJson(text);
  if (!isJsonObject(value) || !isJsonObject(value.strays)) return null;
  const { killed, survivors } = value.strays;
  if (!isPidList(killed) || !isPidList(survivors)) return null;
  const strays = { killed, survivors };
  const { kind, code, signal, isTemporaryFull = false } = value;
  if (kind === 'not_started' && typeof code === 'string') return { kind, code, strays };
  if (kind !== 'exited') return null;
  return (typeof code === 'number' || code === null) && (typeof signal === 'string' || signal === null)
    ? { kind, code, signal, strays, ...(isTemporaryFull === true && { isTemporaryFull }) }
    : null;
};

const isPidList = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((item) => Number.isSafeInteger(item));

const isStringList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isStringMap = (value: unknown): value is Record<string, string> =>
  isJsonObject(value) && Object.values(value).every((item) => typeof item === 'string');

import { isJsonObject, isNestedAtMost, readJsonText } from '@runledger/contracts/json';
import { MAX_OUTPUT_NESTING } from '@runledger/contracts/limits';
import { doubleOf } from '@runledger/contracts/exact-number';
import { JSON_KIND } from '@runledger/contracts/events/run-event-data';
import { liveStatus, type LogLine, type ProgressReport, type RunData } from '../runner.ts';
import { beginningMembers, hasPythonNumber, parsePythonObject } from './python-json.ts';
import type { Written } from './message-lines.ts';
import { reportAfter } from './progress-line.ts';

/** One line of a program's standard output, parsed. */
export type ProgramMessage =
  | ProgramReport
  /** An output that cannot be kept: the run must not succeed without it. */
  | { kind: 'bad_output'; lost: LostOutput }
  | { kind: 'log'; lines: readonly string[]; notice?: string };

interface ProgramReport {
  kind: 'report';
  progress?: number;
  liveStatus?: string;
  output?: OutputEntries;
  /** For the log: what was not kept as it was written. */
  notice?: string;
}

/** The output that is missing, as the second half of a sentence. */
export interface LostOutput {
  readonly kind: 'invalid_output' | 'output_too_large';
  readonly why: string;
  /** The line that cannot be kept, or the beginning of it; empty when it was none. */
  readonly line: string;
}

/** Each kind stays a member of the run's data. */
const MAX_KIND_LENGTH = 64;
/** More than an error shows of it, so that what is hidden there is whole. */
const MAX_KEPT_LINE = 2 * 1024;

export const readMessage = (written: Written): ProgramMessage => {
  const { text, cut, lines } = written;
  const value = cut ? undefined : parsePythonObject(text);
  if (value === undefined) {
    if (meansOutput(text)) return unreadable(written, TOO_LONG);
    return endsWithOutput(text) ? { kind: 'log', lines, notice: NOT_AT_BEGINNING } : { kind: 'log', lines };
  }
  return reportOf(value, text) ?? { kind: 'log', lines };
};

/** It may as well be a line about an output, so it is no error. */
const endsWithOutput = (text: string): boolean => {
  const at = text.indexOf('{"output"');
  return at > 0 && parsePythonObject(text.slice(at)) !== undefined;
};

const NOT_AT_BEGINNING =
  'The line before has an output behind other text: it is no output of the run. Write an output at the beginning of a line of its own.';

const TOO_LONG = 'an {"output": …} line is longer than 64 KiB';

/** A line that is no JSON, or is cut, means to be an output when it begins like one, as people see it. */
export const meansOutput = (text: string): boolean => {
  const seen = withoutUnseen(text);
  return /^\s*\{/.test(seen) && (OUTPUT_FIRST.test(seen) || beginningMembers(seen).has('output'));
};

/**
 * Without what nobody sees before the brace: colours, control characters, spaces without a width, the order mark of UTF-16. In UTF-16
 * each character of ASCII has a zero beside it.
 */
export const withoutUnseen = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are what is removed
  text.replaceAll('\0', '').replace(/^(?:\u001B\[[0-9;?]*[A-Za-z]|[\p{Cc}\p{Cf}\uFFFD\s])+(?=\{)/u, '');

/** As `print` writes a dict of Python, and `console.log` an object. */
const OUTPUT_FIRST = /^\s*\{\s*(['"]?)output\1\s*:/;

/** An output that is cut, or no JSON. */
export const unreadable = (
  { text, cut }: Written,
  tooLong: string,
): ProgramMessage & { kind: 'bad_output' } =>
  cut ? badOutput('output_too_large', tooLong, text) : badOutput('invalid_output', whyNoJson(text), text);

const whyNoJson = (text: string): string => {
  if (text.includes('\0')) return 'a line that begins like an output is not UTF-8';
  const read = readJsonText(text);
  return read.kind === 'invalid' && read.problem === 'number'
    ? `in an {"output": …} line ${read.why}`
    : 'a line that begins like an output is not JSON';
};

/** What the members `progress`, `live_status` and `output` say; null when there is none of them. `text` is what was written. */
export const reportOf = (
  value: Readonly<Record<string, unknown>>,
  text: string,
): Exclude<ProgramMessage, { kind: 'log' }> | null => {
  const message: ProgramReport = { kind: 'report' };
  const progress = doubleOf(member(value, 'progress'));
  if (progress !== undefined && progress >= 0 && progress <= 1) message.progress = progress;
  const status = member(value, 'live_status');
  if (typeof status === 'string') message.liveStatus = liveStatus(status);
  const output = member(value, 'output');
  if (output !== undefined) {
    const entries = outputEntries(output);
    if (typeof entries === 'string') return badOutput('invalid_output', entries, text);
    message.output = entries;
    if (hasPythonNumber(text)) message.notice = PYTHON_NUMBER;
  }
  return Object.keys(message).length > 1 ? message : null;
};

const PYTHON_NUMBER =
  'An output has a number that JSON does not have (NaN or Infinity): it is kept as a text with this word.';

export const badOutput = (
  kind: LostOutput['kind'],
  why: string,
  line: string,
): ProgramMessage & { readonly kind: 'bad_output' } => ({
  kind: 'bad_output',
  lost: { kind, why, line: line.slice(0, MAX_KEPT_LINE) },
});

/** An object maps kinds to a value or a list of values; anything else is an output without a kind. Else why it cannot be kept. */
const outputEntries = (output: unknown): OutputEntries | string => {
  if (!isNestedAtMost(MAX_OUTPUT_NESTING, output))
    return `an output nests more than ${MAX_OUTPUT_NESTING} levels`;
  if (!isJsonObject(output)) return unnamedEntries(valuesOf(output));
  const entries = Object.entries(output);
  const wrong = entries.find(([kind]) => kind === '' || kind.length > MAX_KIND_LENGTH);
  if (wrong !== undefined) return `a kind of output is not a name of 1 to ${MAX_KIND_LENGTH} characters`;
  return entries.map(([kind, value]) => [kind, valuesOf(value).map((item) => dataText(kind, item))]);
};

const valuesOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as unknown[]) : [value];

export const member = (value: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;

/** The text outputs of a program so far. */
export interface CollectedData {
  data(): RunData;
  /** Why the data is incomplete; null when it is complete. */
  lost(): LostOutput | null;
}

/** The messages of a program so far: its last progress, and its text outputs. */
export interface CollectedMessages extends CollectedData {
  take(message: ProgramMessage): void;
  /** What is drawn over itself, as a bar of tqdm is: progress, until the program reports its own. */
  draw(drawing: string): void;
}

export const collectMessages = (
  onProgress: (report: ProgressReport) => void,
  onLog: (line: LogLine) => void,
  /** Bytes of all outputs as JSON. */
  limit: number,
): CollectedMessages => {
  let last: ProgressReport = { progress: 0, live_status: null };
  let reportsItself = false;
  let lost: LostOutput | null = null;
  let bytes = 0;
  const collected = new Map<string, string[]>();

  const collect = (entries: OutputEntries): void => {
    bytes += jsonSize(entries);
    if (bytes > limit) {
      const why = `its outputs are larger than ${limit / 1024} KiB as JSON`;
      lost ??= { kind: 'output_too_large', why, line: '' };
      return;
    }
    for (const [kind, values] of entries) collected.set(kind, [...(collected.get(kind) ?? []), ...values]);
  };

  const progress = (message: ProgramReport): void => {
    if (message.progress === undefined && message.liveStatus === undefined) return;
    reportsItself = true;
    last = {
      progress: Math.max(last.progress, message.progress ?? 0),
      live_status: message.liveStatus ?? last.live_status,
    };
    onProgress(last);
  };

  return {
    take: (message) => {
      switch (message.kind) {
        case 'log':
          for (const line of message.lines) onLog({ stream: 'stdout', line });
          break;
        case 'bad_output':
          lost ??= message.lost;
          return;
        case 'report':
          progress(message);
          if (message.output !== undefined) collect(message.output);
      }
      if (message.notice !== undefined) onLog({ stream: 'runner', line: message.notice });
    },
    draw: (drawing) => {
      const next = reportsItself ? last : reportAfter(last, drawing);
      if (next === last) return;
      last = next;
      onProgress(last);
    },
    data: () => Object.fromEntries(collected),
    lost: () => lost,
  };
};

const jsonSize = (entries: OutputEntries): number => Buffer.byteLength(JSON.stringify(entries));

/** Kinds of output with their values, in the order written. */
type OutputEntries = [kind: string, values: string[]][];

/**
 * A value as the data of a run has it: a text as it is, and any other JSON value as JSON. Under the kind `json` a text is a JSON value as well:
 * there the run shows values as they are.
 */
export const dataText = (kind: string, value: unknown): string =>
  typeof value === 'string' && kind !== JSON_KIND ? value.toWellFormed() : JSON.stringify(value);

/** Values without a kind: texts are of the kind `text`, or `urls` if they are that, and anything else is of the kind `json`. */
export const unnamedEntries = (values: readonly unknown[]): OutputEntries => {
  const entries = new Map<string, string[]>();
  const areTexts = values.every((value) => typeof value === 'string');
  for (const value of values) {
    const kind = !areTexts ? JSON_KIND : URL_TEXT.test(String(value)) ? 'urls' : 'text';
    entries.set(kind, [...(entries.get(kind) ?? []), dataText(kind, value)]);
  }
  return [...entries];
};

const URL_TEXT = /^https?:\/\/\S+$/i;

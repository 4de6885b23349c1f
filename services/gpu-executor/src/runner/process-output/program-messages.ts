import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { doubleOf, isJsonNumber, numberText } from '@runledger/contracts/numbers/exact-number';
import { readJsonText } from '@runledger/contracts/numbers/read-json-text';
import { liveStatus } from '../live-status.ts';
import type { Line } from './cut-lines.ts';

/** One line of a program's standard output, parsed. */
export type ProgramMessage =
  | { kind: 'report'; progress?: number; liveStatus?: string; output?: OutputEntries }
  /** An output that cannot be kept: the run must not succeed without it. */
  | { kind: 'bad_output'; lost: LostOutput }
  | { kind: 'log'; text: string };

/** The output that is missing, as the second half of a sentence. */
export interface LostOutput {
  readonly kind: 'invalid_output' | 'output_too_large';
  readonly why: string;
}

/** Kinds of output with their values, in the order written. */
export type OutputEntries = [kind: string, values: string[]][];

/** Each kind stays a member of the run's data. */
const MAX_KIND_LENGTH = 64;

export const readMessage = ({ text, cut }: Line): ProgramMessage => {
  if (cut && /^\s*\{\s*"output"/.test(text))
    return badOutput('output_too_large', 'an {"output": …} line is longer than 64 KiB');
  const value = cut ? undefined : parseObject(text);
  if (value === undefined && !cut && /^\s*\{\s*"output"/.test(text)) {
    const read = readJsonText(text);
    if (read.kind === 'invalid' && read.problem === 'number')
      return badOutput('invalid_output', `in an {"output": …} line ${read.why}`);
  }
  return (value === undefined ? null : reportOf(value)) ?? { kind: 'log', text };
};

/** What the members `progress`, `live_status` and `output` say; null when there is none of them. */
export const reportOf = (
  value: Readonly<Record<string, unknown>>,
): Exclude<ProgramMessage, { kind: 'log' }> | null => {
  const message: ProgramMessage & { kind: 'report' } = { kind: 'report' };
  const progress = doubleOf(member(value, 'progress'));
  if (progress !== undefined && progress >= 0 && progress <= 1) message.progress = progress;
  const status = member(value, 'live_status');
  if (typeof status === 'string') message.liveStatus = liveStatus(status);
  const output = member(value, 'output');
  if (output !== undefined) {
    const entries = outputEntries(output);
    if (entries === null)
      return badOutput('invalid_output', 'an output is not a map of kinds to texts or lists of texts');
    message.output = entries;
  }
  return Object.keys(message).length > 1 ? message : null;
};

export const badOutput = (
  kind: LostOutput['kind'],
  why: string,
): ProgramMessage & { readonly kind: 'bad_output' } => ({
  kind: 'bad_output',
  lost: { kind, why },
});

const outputEntries = (output: unknown): OutputEntries | null => {
  if (!isJsonObject(output)) return null;
  const entries: OutputEntries = [];
  for (const [kind, value] of Object.entries(output)) {
    const values = (Array.isArray(value) ? value : [value]).map(asText);
    const texts = values.filter((item) => item !== null);
    if (kind === '' || kind.length > MAX_KIND_LENGTH || texts.length < values.length) return null;
    entries.push([kind, texts]);
  }
  return entries;
};

const asText = (value: unknown): string | null => {
  if (typeof value === 'string') return value.toWellFormed();
  if (isJsonNumber(value)) return numberText(value);
  return typeof value === 'boolean' ? String(value) : null;
};

export const parseObject = (text: string): Record<string, unknown> | undefined => {
  // Most lines are not messages, and a program may write many of them.
  if (!/^\s*\{/.test(text)) return undefined;
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
};

export const member = (value: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;

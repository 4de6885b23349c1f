import { isJsonObject, parseJson } from '@runledger/contracts/json';
const SHOWN_LEVELS: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal']);
const MAX_LINE_LENGTH = 500;
/** The log file has the stack of a crash. */
const STACK_FRAME = /^\s+at /;

/**
 * The short form of a service's log line for the terminal: warnings, errors, and lines that are not JSON (a crash of the
 * runtime, an invalid configuration). Undefined for other lines.
 */
export const terminalLine = (service: string, line: string): string | undefined => {
  const record = parseJson(line);
  if (!isJsonObject(record)) return STACK_FRAME.test(line) ? undefined : short(`${service}: ${line}`);
  if (!SHOWN_LEVELS.has(record['level'])) return undefined;
  const message = textOf(record['msg']) ?? 'an empty message';
  const error = record['err'];
  const cause = textOf(record['why']) ?? (isJsonObject(error) ? textOf(error['message']) : undefined);
  const because = cause === undefined || message.includes(cause) ? '' : ` (${cause})`;
  return short(
    `${service} ${record['level'] === 'warn' ? 'warns' : 'reports an error'}: ${message}${because}`,
  );
};

const short = (text: string): string => {
  const plain = text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  return plain.length > MAX_LINE_LENGTH ? `${plain.slice(0, MAX_LINE_LENGTH)}…` : plain;
};

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const SHOWN_LEVELS: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal']);
const LONGEST = 500;
/** Where a crash came from is in the log file. */
const STACK_FRAME = /^\s+at /;

/**
 * What a person at the terminal should see of a service's log line: warnings and errors in a short form, and what
 * is no log line at all (a crash of the runtime, a wrong configuration). Undefined for everything else.
 */
export const terminalLine = (service: string, line: string): string | undefined => {
  const record = parse(line);
  if (record === undefined) return STACK_FRAME.test(line) ? undefined : short(`${service}: ${line}`);
  if (!SHOWN_LEVELS.has(record['level'])) return undefined;
  const message = textOf(record['msg']) ?? 'a message without words';
  const error = record['err'];
  const cause = textOf(record['why']) ?? (isObject(error) ? textOf(error['message']) : undefined);
  const because = cause === undefined || message.includes(cause) ? '' : ` (${cause})`;
  return short(
    `${service} ${record['level'] === 'warn' ? 'warns' : 'reports an error'}: ${message}${because}`,
  );
};

const short = (text: string): string => {
  const plain = text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain;
};

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const parse = (line: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

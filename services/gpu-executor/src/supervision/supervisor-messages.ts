import { isJsonObject, parseJson } from '@runledger/contracts/json';

/** The messages between the executor and the supervisor of a run: one line of JSON in each direction. */
export interface Start {
  command: string;
  args: string[];
  env: Record<string, string>;
}

export type Ending =
  | { kind: 'exited'; code: number | null; signal: string | null }
  /** `code` is the system's name of the error: `ENOENT`, `EACCES`, … */
  | { kind: 'not_started'; code: string };

export const parseStart = (line: string): Start => {
  const value: unknown = JSON.parse(line);
  if (
    !isJsonObject(value) ||
    typeof value.command !== 'string' ||
    !isStringList(value.args) ||
    !isStringMap(value.env)
  )
    throw new Error(
      'The first message of the executor is invalid. Executor and supervisor are of one release, so this is a bug.',
    );
  return { command: value.command, args: value.args, env: value.env };
};

/** Null for an incomplete report: the supervisor was killed while it wrote. */
export const parseEnding = (line: string): Ending | null => {
  const value = parseJson(line);
  if (!isJsonObject(value)) return null;
  if (value.kind === 'not_started' && typeof value.code === 'string')
    return { kind: 'not_started', code: value.code };
  if (value.kind !== 'exited') return null;
  const { code, signal } = value;
  return (typeof code === 'number' || code === null) && (typeof signal === 'string' || signal === null)
    ? { kind: 'exited', code, signal }
    : null;
};

const isStringList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isStringMap = (value: unknown): value is Record<string, string> =>
  isJsonObject(value) && Object.values(value).every((item) => typeof item === 'string');

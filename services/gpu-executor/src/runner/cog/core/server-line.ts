import { isJsonObject, parseJson } from '@runledger/contracts/json';

/** A line that a server of Cog wrote, for people: it writes most lines as `{"fields": {"message"}, …}`. */
export const serverLine = (line: string): string => readEntry(line)?.message ?? line;

/**
 * What a child process of the model, or a library of it, wrote to a stream of the process, and not by Python: the server logs it under this name, and
 * it is not in the logs of a prediction (seen in coglet 0.23.1). Null for every other line.
 */
export const userLine = (line: string): string | null => {
  const entry = readEntry(line);
  return entry?.target === 'coglet::user' && entry.message !== '' ? entry.message : null;
};

interface Entry {
  readonly target: unknown;
  readonly message: string;
}

const readEntry = (line: string): Entry | null => {
  if (!line.startsWith('{')) return null;
  const entry = parseJson(line);
  if (!isJsonObject(entry) || !isJsonObject(entry['fields'])) return null;
  const { message } = entry['fields'];
  return typeof message === 'string' ? { target: entry['target'], message } : null;
};

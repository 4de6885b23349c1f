import { isJsonObject, parseJson } from '@runledger/contracts/json';

/** A line that a server of Cog wrote, for people: it writes most lines as `{"fields": {"message"}, …}`. Null for what only `readOutputLine` is for. */
export const serverLine = (line: string): string | null => {
  const entry = readEntry(line);
  if (entry === null) return line;
  return entry.level === 'DEBUG' ? null : entry.message;
};

/**
 * What a child process of the model, or a library of it, wrote to a stream of the process, and not by Python: the server logs it under this name, and
 * it is not in the logs of a prediction (seen in coglet 0.23.1). Null for every other line.
 */
export const userLine = (line: string): string | null => {
  const entry = readEntry(line);
  return entry?.target === 'coglet::user' && entry.message !== '' ? entry.message : null;
};

/** What a server logs, at its level `debug`, of the files that predictions put out (seen in coglet 0.23.1). Its answers do not have their names. */
export type OutputLine =
  | { readonly kind: 'begun' | 'ended'; readonly prediction: string; readonly slot: string }
  /** In the order of the output, and before the end of the prediction. */
  | { readonly kind: 'file'; readonly slot: string; readonly path: string }
  /** Of the last file: its output lacks it, and the prediction succeeds nevertheless. */
  | { readonly kind: 'unread'; readonly slot: string; readonly why: string };

export const readOutputLine = (line: string): OutputLine | null => {
  const entry = readEntry(line);
  if (entry === null) return null;
  const { message, fields } = entry;
  const text = (name: string): string => {
    const value = fields[name];
    return typeof value === 'string' ? value : '';
  };
  const slot = text('slot_id');
  switch (message) {
    case 'Registered prediction':
      return { kind: 'begun', prediction: text('prediction_id'), slot };
    case 'Prediction worker completed':
      return { kind: 'ended', prediction: text('prediction_id'), slot };
    case 'FileOutput received':
      return text('kind') === 'FileType' ? { kind: 'file', slot, path: text('filename') } : null;
    case 'Failed to read FileOutput':
      return { kind: 'unread', slot, why: text('error') };
    default:
      return null;
  }
};

interface Entry {
  readonly level: unknown;
  readonly target: unknown;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const readEntry = (line: string): Entry | null => {
  if (!line.startsWith('{')) return null;
  const entry = parseJson(line);
  const fields = isJsonObject(entry) ? entry['fields'] : undefined;
  if (!isJsonObject(entry) || !isJsonObject(fields)) return null;
  const { level, target } = entry;
  const { message } = fields;
  return typeof message === 'string' ? { level, target, message, fields } : null;
};

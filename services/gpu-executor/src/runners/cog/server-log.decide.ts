import { isJsonObject, parseJson } from '@runledger/contracts/json';
import type { ProgressReport } from '../runner.ts';
import { reportAfter } from '../output/progress-line.ts';

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

/** How far the logs of a prediction are read. */
export interface LogsRead {
  /** Where the first line begins whose end has not come. */
  readonly line: number;
  /** Where its last drawing begins: a bar is drawn over itself. */
  readonly drawing: number;
  readonly report: ProgressReport;
}

export const NOTHING_READ: LogsRead = { line: 0, drawing: 0, report: { progress: 0, live_status: null } };

export interface LogsStep {
  readonly read: LogsRead;
  /** The lines that are new. */
  readonly lines: readonly string[];
  /** Every change of the progress, in order. */
  readonly reports: readonly ProgressReport[];
}

/**
 * What is new in the logs of a prediction, which are all that it has printed so far. A line is new when its end has come, or `isEnd`. A bar
 * that is drawn over itself counts as progress at once, and is one line when its line ends. Logs that are shorter than before say nothing.
 */
export const readLogs = (before: LogsRead, logs: string, isEnd: boolean): LogsStep => {
  if (logs.length < before.drawing) return { read: before, lines: [], reports: [] };
  const lines: string[] = [];
  const reports: ProgressReport[] = [];
  let { line, drawing, report } = before;
  const drawn = (end: number): string => {
    const all = logs.slice(drawing, end).split('\r');
    for (const each of all) {
      const next = reportAfter(report, each);
      if (next !== report) reports.push(next);
      report = next;
    }
    drawing = end - (all.at(-1)?.length ?? 0);
    // A drawing that was begun and is still empty leaves the one before on the screen.
    return all.findLast((each) => each !== '') ?? lastDrawing(logs.slice(line, drawing));
  };
  for (let end = logs.indexOf('\n', drawing); end !== -1; end = logs.indexOf('\n', drawing)) {
    lines.push(drawn(end));
    line = drawing = end + 1;
  }
  const open = drawn(logs.length);
  if (isEnd && open !== '') {
    lines.push(open);
    line = drawing = logs.length;
  }
  return { read: { line, drawing, report }, lines, reports };
};

const lastDrawing = (line: string): string => line.split('\r').findLast((each) => each !== '') ?? '';

import type { ProgressReport } from '../../../runners/runner.ts';
import { reportAfter } from '../../../runners/output/progress-line.ts';

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

import type { LogLine, Preparing, ProgressReport, RunObserver } from '../../src/runners/runner.ts';

/** Far more than a test looks at, and no more than memory has. */
const MAX_LINES = 10_000;

export interface Reported {
  /** For each time that the runner began: how long it was loading. */
  readonly begun: readonly number[];
  /** And of which code. */
  readonly codes: readonly (string | null)[];
  /** And of which packages. */
  readonly environments: readonly (string | null)[];
  /** And how much of it was preparing. */
  readonly preparings: readonly (Preparing | null)[];
  readonly reports: readonly ProgressReport[];
  /** The first lines of the run's log. */
  readonly lines: readonly LogLine[];
}

/** An observer that keeps what a runner reports. */
export const observed = (mayBegin = true): Reported & { readonly observe: RunObserver } => {
  const begun: number[] = [];
  const codes: (string | null)[] = [];
  const environments: (string | null)[] = [];
  const preparings: (Preparing | null)[] = [];
  const begin: RunObserver['begin'] = async (loadingMs, code, environment = null, preparing = null) => {
    begun.push(loadingMs);
    codes.push(code);
    environments.push(environment);
    preparings.push(preparing);
    return mayBegin;
  };
  const reports: ProgressReport[] = [];
  const lines: LogLine[] = [];
  const log = (line: LogLine): void => void (lines.length < MAX_LINES && lines.push(line));
  const masked = (text: string): string => text;
  const observe = { begin, progress: (report: ProgressReport) => reports.push(report), log, masked };
  return { observe, begun, codes, environments, preparings, reports, lines };
};

import type { ProgressReport } from '../runner/runner.ts';

export interface Coalesced extends Disposable {
  report(report: ProgressReport): void;
  /** The last report, whether it was sent or not. */
  last(): ProgressReport;
}

export interface Pace {
  /** How long the first report of an attempt waits: one that ends before sends none. */
  readonly firstAfterMs: number;
  readonly everyMs: number;
}

/** Sends the latest report after the pause for the first one, and then at most every `everyMs`. */
export const coalesceProgress = (
  send: (report: ProgressReport) => void,
  { firstAfterMs, everyMs }: Pace,
): Coalesced => {
  let last: ProgressReport = { progress: 0, live_status: null };
  let unsent = false;
  let isFirst = true;
  let timer: NodeJS.Timeout | undefined;

  const sendLast = (): void => {
    unsent = false;
    isFirst = false;
    send(last);
    sendLater(everyMs);
  };
  const sendLater = (afterMs: number): void => {
    timer = setTimeout(() => {
      timer = undefined;
      if (unsent) sendLast();
    }, afterMs);
  };

  return {
    report: (report) => {
      last = report;
      unsent = true;
      if (timer !== undefined) return;
      if (isFirst) sendLater(firstAfterMs);
      else sendLast();
    },
    last: () => last,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
};

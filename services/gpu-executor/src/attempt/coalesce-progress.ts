import type { ProgressReport } from '../runner/runner.ts';

export interface Coalesced extends Disposable {
  report(report: ProgressReport): void;
  /** The last report, whether it was sent or not. */
  last(): ProgressReport;
}

/** Sends the first report at once, and then the latest one at most every `everyMs`. */
export const coalesceProgress = (send: (report: ProgressReport) => void, everyMs: number): Coalesced => {
  let last: ProgressReport = { progress: 0, live_status: null };
  let unsent = false;
  let timer: NodeJS.Timeout | undefined;

  const sendLast = (): void => {
    unsent = false;
    send(last);
    timer = setTimeout(() => {
      timer = undefined;
      if (unsent) sendLast();
    }, everyMs);
  };

  return {
    report: (report) => {
      last = report;
      unsent = true;
      if (timer === undefined) sendLast();
    },
    last: () => last,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
};

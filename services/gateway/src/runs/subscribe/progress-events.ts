import type { ProgressReport } from '@runledger/contracts/events/activity';
import type { RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import type { ExecutorId } from '@runledger/contracts/ids';
import { liveStatus } from '@runledger/contracts/run-view/live-status';
import { isExecuting, type Run } from '@runledger/contracts/fold/run';

export interface Reported {
  readonly attempt: number;
  readonly executor: ExecutorId;
  readonly report: ProgressReport;
}

/** The progress of the current attempt, once a second at most. Reports of other attempts do not count. */
export interface ProgressEvents {
  readonly take: (reported: Reported) => void;
  /** The run has changed, so a report may count now. */
  readonly emitLater: () => void;
  /** Without waiting for the next second. */
  readonly emitNow: () => void;
  /** The last event, if it is of the current attempt. Within an attempt it never shows less than before. */
  readonly latest: () => RunProgressEvent | undefined;
  readonly close: () => void;
}

export interface ProgressEventsOptions {
  readonly run: () => Run | undefined;
  readonly onProgress: () => void;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const EVERY_MS = 1_000;
const MAX_ATTEMPTS = 3;

export const progressEvents = ({ run, onProgress, clock }: ProgressEventsOptions): ProgressEvents => {
  // A report may overtake the fact that begins its attempt, so the last reports of a few attempts are kept.
  let kept: readonly Reported[] = [];
  let last: RunProgressEvent | undefined;
  let lastAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;

  const emitNow = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const now = ofCurrent(run(), kept);
    if (!now || isSame(now, last)) return;
    last = now;
    lastAt = clock();
    onProgress();
  };
  const emitLater = (): void => {
    timer ??= setTimeout(emitNow, Math.max(lastAt + EVERY_MS - clock(), 0));
  };
  return {
    take: (reported) => {
      const before = kept.find((other) => isOf(other, reported));
      if (before && before.report.progress > reported.report.progress) return;
      kept = [reported, ...kept.filter((other) => other !== before)].slice(0, MAX_ATTEMPTS);
      emitLater();
    },
    emitLater,
    emitNow,
    latest: () => (last && last.attempt === attemptOf(run()) ? last : undefined),
    close: () => clearTimeout(timer),
  };
};

const ofCurrent = (run: Run | undefined, kept: readonly Reported[]): RunProgressEvent | undefined => {
  if (!run || !isExecuting(run)) return undefined;
  const { number: attempt, executor_id: executor } = run.attempt;
  const report = kept.find((reported) => isOf(reported, { attempt, executor }))?.report;
  if (!report) return undefined;
  const { progress, time } = report;
  return { attempt, progress, live_status: liveStatus(run, report.live_status), time };
};

const attemptOf = (run: Run | undefined): number | undefined =>
  run && isExecuting(run) ? run.attempt.number : undefined;

const isOf = (reported: Reported, { attempt, executor }: Pick<Reported, 'attempt' | 'executor'>): boolean =>
  reported.attempt === attempt && reported.executor === executor;

const isSame = (a: RunProgressEvent, b: RunProgressEvent | undefined): boolean =>
  a.attempt === b?.attempt && a.progress === b.progress && a.live_status === b.live_status;

import { isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { MissingMember } from '@runledger/contracts/http/runs/run-outputs';
import type { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { isDeleted, isEnded, isExecuting, type RunFact, type Run } from '@runledger/contracts/fold/run';
import {
  outputsResponse,
  missingOutputs,
  endResponse,
  type OutputUrl,
} from '@runledger/contracts/http/runs/run-response';
import { liveStatus } from '@runledger/contracts/http/runs/live-status';
import type { ProgressReport } from '@runledger/contracts/events/progress';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { RunView } from '../views/run-view.ts';

/** The events of a run for its subscribers: its facts, each with the run folded up to it. */
export interface RunEvents {
  /** In the order of the log. It only grows. */
  readonly facts: readonly RunFactEvent[];
  run(): Run | undefined;
  /** Adds what is new of all facts of the run, with their outputs but for what is `lost`; false when they do not begin with those before. */
  add(known: readonly RunFact[], lost: readonly MissingMember[]): boolean;
  /** Adds the last state of a run whose events have expired; false when there are facts. */
  addView(view: RunView, lost: readonly MissingMember[]): boolean;
}

export const runEvents = (outputUrl: OutputUrl): RunEvents => {
  const facts: RunFactEvent[] = [];
  let eventIds: string[] = [];
  let run: Run | undefined;
  return {
    facts,
    run: () => run,
    add: (known, lost) => {
      const continues = eventIds.every((id, index) => known[index]?.event.event_id === id);
      // The end of a run that outlived the log: what came before it has expired.
      const isEndAlone =
        known.length === 1 && known.every(({ event }) => RUN_CHAIN.needs(event) === 'nothing');
      if (!continues && !isEndAlone) return false;
      if (!continues) eventIds = [];
      const hasOutputs = known.every(({ event }) => event.type !== 'RunOutputsDeleted');
      for (const fact of known.slice(eventIds.length)) {
        const next = evolveRun(run, fact);
        if (isImpossible(next)) throw new Error(next.impossible);
        if (isDeleted(next)) return false;
        const { event, sequence, time } = fact;
        const { type, attempt } = event;
        const state = hasOutputs
          ? stateOf(next, outputUrl, lost)
          : stateOf(withoutOutputs(next), outputUrl, [DELETED]);
        facts.push({ sequence, type, time, attempt, ...state });
        eventIds.push(event.event_id);
        run = withoutInputs(next);
      }
      return true;
    },
    addView: ({ head, run }, lost) => {
      if (facts.length > 0) return false;
      const attempt = run.attempt?.number ?? 0;
      const state = stateOf(run, outputUrl, lost);
      facts.push({ sequence: head, type: null, time: run.updated_at, attempt, ...state });
      return true;
    },
  };
};

/** The log has outputs longer than their run. */
const withoutOutputs = (run: Run): Run => (isEnded(run) ? { ...run, outputs: [] } : run);

const DELETED: MissingMember = { member: 'outputs', reason: 'deleted' };

/** Events do not show the inputs, which would be the largest part of a run in memory. */
const withoutInputs = (run: Run): Run => ({
  ...run,
  request: { ...run.request, inputs: {}, inputs_blob: null },
});

/** What an event shows of the run right after it. `lost`: what is lost of its outputs. */
const stateOf = (run: Run, outputUrl: OutputUrl, lost: readonly MissingMember[]) => {
  const { status } = run;
  const end = endResponse(run);
  if (!isEnded(run)) {
    return { status, live_status: liveStatus(run, null), progress: 0, ...end };
  }
  const missing = missingOutputs(run, lost);
  return {
    status,
    live_status: null,
    progress: run.progress,
    ...end,
    outputs: outputsResponse(run, outputUrl),
    ...(missing.length === 0 ? {} : { missing_members: [...missing] }),
  };
};

export interface Reported {
  readonly attempt: number;
  readonly executor: ExecutorId;
  readonly report: ProgressReport;
}

/** The progress of the current attempt, once a second at most. Reports of other attempts do not count. */
export interface ProgressEvents {
  readonly report: (reported: Reported) => void;
  /** The run has changed, so a report may count now. */
  readonly emitLater: () => void;
  /** Without waiting for the next second. */
  readonly emitNow: () => void;
  /** The last event, if it is of the current attempt. Within an attempt it never shows less than before. */
  readonly latest: () => RunProgressEvent | undefined;
  readonly close: () => void;
}

interface ProgressEventsOptions {
  readonly run: () => Run | undefined;
  readonly onProgress: () => void;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const EVERY_MS = 1_000;
const MAX_ATTEMPTS = 3;

export const progressEvents = ({ run, onProgress, clock }: ProgressEventsOptions): ProgressEvents => {
  // A report may overtake the fact that begins its attempt, so the last reports of a few attempts are kept.
  let reports: readonly Reported[] = [];
  let last: RunProgressEvent | undefined;
  let lastAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;

  const emitNow = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const now = ofCurrent(run(), reports);
    if (!now || isSame(now, last)) return;
    last = now;
    lastAt = clock();
    onProgress();
  };
  const emitLater = (): void => {
    timer ??= setTimeout(emitNow, Math.max(lastAt + EVERY_MS - clock(), 0));
  };
  return {
    report: (reported) => {
      const before = reports.find((other) => isOf(other, reported.attempt, reported.executor));
      if (before && before.report.progress > reported.report.progress) return;
      reports = [reported, ...reports.filter((other) => other !== before)].slice(0, MAX_ATTEMPTS);
      emitLater();
    },
    emitLater,
    emitNow,
    latest: () => (last && last.attempt === attemptOf(run()) ? last : undefined),
    close: () => clearTimeout(timer),
  };
};

const ofCurrent = (run: Run | undefined, reports: readonly Reported[]): RunProgressEvent | undefined => {
  if (!run || !isExecuting(run)) return undefined;
  const { number: attempt, executor_id: executor } = run.attempt;
  const report = reports.find((reported) => isOf(reported, attempt, executor))?.report;
  if (!report) return undefined;
  const { progress, time } = report;
  return { attempt, progress, live_status: liveStatus(run, report.live_status), time };
};

const attemptOf = (run: Run | undefined): number | undefined =>
  run && isExecuting(run) ? run.attempt.number : undefined;

const isOf = (reported: Reported, attempt: number, executor: ExecutorId): boolean =>
  reported.attempt === attempt && reported.executor === executor;

const isSame = (a: RunProgressEvent, b: RunProgressEvent | undefined): boolean =>
  a.attempt === b?.attempt && a.progress === b.progress && a.live_status === b.live_status;

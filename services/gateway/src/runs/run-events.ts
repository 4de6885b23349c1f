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
  /** Takes all facts of the run, with their outputs but for what is `lost`; false when they do not begin with those that were taken before. */
  take(known: readonly RunFact[], lost: readonly MissingMember[]): boolean;
  /** Takes the last state of a run whose events have expired; false when facts were taken before. */
  takeView(view: RunView, lost: readonly MissingMember[]): boolean;
}

export const runEvents = (outputUrl: OutputUrl): RunEvents => {
  const facts: RunFactEvent[] = [];
  let eventIds: string[] = [];
  let run: Run | undefined;
  return {
    facts,
    run: () => run,
    take: (known, lost) => {
      const continues = eventIds.every((id, index) => known[index]?.event.event_id === id);
      // The end of a run that outlived the log: what was taken before it has expired.
      const isEndAlone =
        known.length === 1 && known.every(({ event }) => RUN_CHAIN.needs(event) === 'nothing');
      if (!continues && !isEndAlone) return false;
      if (!continues) eventIds = [];
      const hasOutputs = known.every(({ event }) => event.type !== 'RunOutputsDeleted');
      for (const fact of known.slice(eventIds.length)) {
        const next = evolveRun(run, fact);
        if (isImpossible(next)) throw new Error(next.impossible);
        if (isDeleted(next)) return false;
        const shown = { outputUrl, lost: hasOutputs ? lost : [DELETED] };
        facts.push(runFactEvent(fact, hasOutputs ? next : withoutOutputs(next), shown));
        eventIds.push(fact.event.event_id);
        run = withoutInputs(next);
      }
      return true;
    },
    takeView: (view, lost) => {
      if (facts.length > 0) return false;
      facts.push(lastStateEvent(view, { outputUrl, lost }));
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

/** What the last event of a run shows besides the run. */
interface ShownEnd {
  readonly outputUrl: OutputUrl;
  /** What is lost of its outputs. */
  readonly lost: readonly MissingMember[];
}

/** The event of a fact; `run` is the run right after it. */
const runFactEvent = ({ event, sequence, time }: RunFact, run: Run, shown: ShownEnd): RunFactEvent => ({
  sequence,
  type: event.type,
  time,
  attempt: event.attempt,
  ...situation(run, shown),
});

/** The only event of a run whose events have expired: its last state. */
const lastStateEvent = ({ head, run }: RunView, shown: ShownEnd): RunFactEvent => ({
  sequence: head,
  type: null,
  time: run.updated_at,
  attempt: run.attempt?.number ?? 0,
  ...situation(run, shown),
});

type Situation = Omit<RunFactEvent, 'sequence' | 'type' | 'time' | 'attempt'>;

const situation = (run: Run, { outputUrl, lost }: ShownEnd): Situation => {
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
  readonly take: (reported: Reported) => void;
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

import type { BlobRef } from '@runledger/contracts/blobs';
import type { AttemptLog as StoredLog } from '@runledger/contracts/run-logs';
import type { MaskText } from '@runledger/contracts/log-masks';
import type { FetchedAssignment, FetchOptions } from '../transfer/fetch-assigned.ts';
import type { GpuSlot } from '../gpu-slots.ts';
import type { OpenRunner, RunnerFor } from '../runners/runner-type.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { ProgressReport, RunObserver } from '../runners/runner.ts';
import { openAttemptFolders, type AttemptFolders } from '../folders/work-folder.ts';
import type { AttemptLedger } from './attempt-ledger.ts';
import type { Assignment } from './assignment.decide.ts';
import {
  begin,
  endOf,
  NO_OUTPUTS,
  retryAfterOf,
  type Ending,
  type RetryAfter,
} from './end-of-attempt.decide.ts';
import { notBegun, runInTurn, type RunTools, type Work } from './run-workflow.ts';
import { storeOutputs, type OutputTools } from './store-outputs.ts';
import type { TimeLimit } from './time-limit.ts';

export interface AttemptTools extends OutputTools, RunTools {
  readonly slots: readonly GpuSlot[];
  readonly runnerFor: RunnerFor;
  readonly workFolder: string;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly sendProgress: (assignment: Assignment, report: ProgressReport) => void;
  /** Undefined when it is not kept. */
  readonly storeLog: (assignment: Assignment, log: StoredLog) => Promise<BlobRef | undefined>;
  readonly openLog: (assignment: Assignment, mask: MaskText) => AttemptLog;
  /** The files of the inputs go to their folder. */
  readonly fetch: (
    assignment: Assignment,
    folders: AttemptFolders,
    options: FetchOptions,
  ) => Promise<FetchedAssignment>;
}

/** At most about five progress reports a second of each run reach the log, and none of a run that is over within a moment. */
const PROGRESS = { firstAfterMs: 50, everyMs: 200 };

/** Most files are stored within a moment: then the last report of the workflow stays. */
const STORING = { firstAfterMs: 1_000, everyMs: 1_000 };

/** Executes one attempt from its assignment to its end. The ledger decides what may still be stored; `startLimit` counts until it begins. */
export const executeAttempt = async (
  ledger: AttemptLedger,
  tools: AttemptTools,
  startLimit: TimeLimit,
): Promise<void> => {
  const { assignment } = ledger;
  // Drawn once, so that an error has one answer: for what is stored, and for each try to append the end.
  const retry = retryAfterOf(assignment, tools.random());
  using progress = coalesceProgress((report) => tools.sendProgress(assignment, report), PROGRESS);
  const plan = planOf(assignment, tools);
  if ('why' in plan) {
    await ledger.append((state) =>
      endOf(state, ending({ outcome: 'not_runnable', why: plan.why }, progress, retry)),
    );
    return;
  }
  await using folders = openAttemptFolders(tools.workFolder, tools.log);
  const fetched = await fetchAssigned(assignment, tools, { folders, progress, stop: startLimit.signal });
  if (fetched.kind === 'refused') {
    const { error } = fetched;
    await ledger.append((state) => endOf(state, ending({ outcome: 'not_fetched', error }, progress, retry)));
    return;
  }
  if (fetched.kind === 'stopped') {
    const result = notBegun(assignment, startLimit);
    await ledger.append((state) => endOf(state, ending(result, progress, retry)));
    return;
  }
  using log = tools.openLog(assignment, fetched.mask);
  const observe: RunObserver = {
    begin: (loadingMs, code, environment = null, preparing = null) =>
      ledger.append((state) => begin(state, loadingMs, code, environment, preparing)),
    progress: (report) => progress.report(report),
    log: (line) => log.write(line),
    masked: fetched.mask,
  };
  const work = { ...plan, assigned: fetched, folders, startLimit, observe };
  await execute(ledger, tools, work, { log, progress, retry });
};

/** Runs the workflow, stores its outputs, and ends the attempt. */
const execute = async (
  ledger: AttemptLedger,
  tools: AttemptTools,
  work: Work,
  {
    log,
    progress,
    retry,
  }: { readonly log: AttemptLog; readonly progress: Coalesced; readonly retry: RetryAfter },
): Promise<void> => {
  const { assignment } = ledger;
  const result = await runInTurn(ledger, tools, work);
  const log_blob = await tools.storeLog(assignment, await log.end());
  using storing = coalesceProgress((report) => tools.sendProgress(assignment, report), STORING);
  const report = (live_status: string): void =>
    storing.report({ progress: progress.last().progress, live_status });
  // What a failed attempt left is of no use to the next one.
  const isRetried = result.outcome === 'failed' && retry(result.error) !== null;
  const outputId = work.runner.outputId(assignment.event.data.runner);
  const stored = isRetried
    ? {}
    : await storeOutputs(ledger, tools, { result, outputId, report, ...work.folders });
  const ended = { ...ending(result, progress, retry), ...stored, log_blob };
  const isEnded = await ledger.append((state) => endOf(state, ended));
  if (isEnded && log_blob) log.clear();
};

const planOf = (
  { event: { data } }: Assignment,
  { slots, runnerFor }: AttemptTools,
): { readonly runner: OpenRunner; readonly slot: GpuSlot } | { readonly why: string } => {
  const slot = slots[data.slot];
  const runner = runnerFor(data.runner);
  if (runner === undefined) return { why: `The executor has no runner for ${data.runner.kind}.` };
  if (slot === undefined) {
    return { why: `The executor has no slot ${data.slot}, only ${slots.length} slots.` };
  }
  if (slot.gpu !== data.gpu) {
    return {
      why: `Slot ${data.slot} of the executor has a ${slot.gpu}, and the run requires a ${data.gpu}.`,
    };
  }
  return { runner, slot };
};

/** A user sees why a run that is assigned does not start. */
const fetchAssigned = async (
  assignment: Assignment,
  { fetch }: AttemptTools,
  {
    folders,
    progress,
    stop,
  }: { readonly folders: AttemptFolders; readonly progress: Coalesced; readonly stop: AbortSignal },
): Promise<FetchedAssignment> => {
  let isWaiting = false;
  const onWaiting = (): void => {
    if (!isWaiting) progress.report({ progress: 0, live_status: 'waiting for the gateway' });
    isWaiting = true;
  };
  const fetched = await fetch(assignment, folders, { stop, onWaiting });
  if (isWaiting) progress.report({ progress: 0, live_status: null });
  return fetched;
};

const ending = (result: Ending['result'], progress: Coalesced, retryAfter: RetryAfter): Ending => ({
  result,
  retryAfterS: retryAfter,
  storing: { kind: 'stored' },
  outputs: NO_OUTPUTS,
  progress: progress.last().progress,
});

interface Coalesced extends Disposable {
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

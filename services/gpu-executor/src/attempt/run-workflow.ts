import type { Logger } from '@runledger/event-log/connect/observability';
import type { RunWarning } from '@runledger/contracts/events/run-warning';
import { activeTraceparent, inSpan, markFailed } from '@runledger/service-kit/spans';
import type { AssignedWork } from '../transfer/fetch-assigned.ts';
import type { GpuSlot } from '../gpu-slots.ts';
import type { OpenRunner } from '../runners/runner-type.ts';
import type { RunnerWork, RunObserver, RunResult, FetchCode, FetchKeptModel } from '../runners/runner.ts';
import type { AttemptFolders } from '../folders/work-folder.ts';
import type { AttemptLedger } from './attempt-ledger.ts';
import { type Assignment, attemptAttributes } from './assignment.decide.ts';
import { startedTooLate, timedOut, type Executed, judgeOutputs } from './end-of-attempt.decide.ts';
import { openTimeLimit, type TimeLimit } from './time-limit.ts';
import type { Turns } from './turns.ts';

const NOT_BEGUN: RunResult = { outcome: 'cancelled', forced: false, files: [] };

/** Of an attempt that was stopped before it began. */
export const notBegun = (assignment: Assignment, startLimit: TimeLimit): Executed =>
  startLimit.isOver() ? startedTooLate(assignment) : NOT_BEGUN;

/** A workflow that is to be executed. */
export interface Work {
  readonly assigned: AssignedWork;
  readonly folders: AttemptFolders;
  readonly runner: OpenRunner;
  readonly slot: GpuSlot;
  /** Counts until it begins. */
  readonly startLimit: TimeLimit;
  readonly observe: RunObserver;
}

export interface RunTools {
  readonly turns: Turns;
  readonly codeFetcherOf: (assignment: Assignment) => FetchCode;
  readonly modelFetcherOf: (assignment: Assignment) => FetchKeptModel;
  readonly log: Logger;
}

/** It has not begun while it waits, so its start deadline counts, and its time limit does not. */
export const runInTurn = async (ledger: AttemptLedger, tools: RunTools, work: Work): Promise<Executed> => {
  const { org_id, run_id, attempt } = ledger.assignment;
  let isWaiting = false;
  using turn = await tools.turns.acquire(org_id, work.startLimit.signal, () => {
    isWaiting = true;
    tools.log.info(
      { org_id, run_id, attempt },
      'a run waits until programs of another organisation have ended',
    );
    work.observe.progress({ progress: 0, live_status: WAITS_FOR_TURN });
  });
  if (turn === null) return notBegun(ledger.assignment, work.startLimit);
  if (isWaiting) work.observe.progress({ progress: 0, live_status: null });
  return await runWorkflow(ledger.assignment, tools, work);
};

const WAITS_FOR_TURN =
  'waiting until programs of another organisation have ended: on this executor organisations take turns';

const runWorkflow = async (
  assignment: Assignment,
  { codeFetcherOf, modelFetcherOf }: RunTools,
  work: Work,
): Promise<Executed> => {
  const { startLimit } = work;
  const { run_timeout_s, if_no_output } = assignment.event.data;
  using limit = openTimeLimit(startLimit.signal, run_timeout_s);
  const observe: RunObserver = {
    ...work.observe,
    // It executes from then on.
    begin: async (...loaded) => {
      if (startLimit.isOver()) return false;
      startLimit[Symbol.dispose]();
      const isBegun = await work.observe.begin(...loaded);
      if (isBegun) limit.start();
      return isBegun;
    },
  };
  const result = await runnerSpan(assignment, async (traceparent): Promise<Executed> => {
    const executed = {
      ...runnerWork(assignment, work),
      fetchCode: codeFetcherOf(assignment),
      fetchKeptModel: modelFetcherOf(assignment),
      traceparent,
    };
    const ran = await work.runner.run(executed, observe, limit.signal);
    if (ran.outcome !== 'cancelled') return ran;
    if (limit.isOver()) return timedOut(ran, run_timeout_s);
    return startLimit.isOver() ? startedTooLate(assignment) : ran;
  });
  return result.outcome === 'timed_out' ? result : maskedResult(judgeOutputs(result, if_no_output), observe);
};

const runnerWork = (
  { org_id, run_id, attempt, event }: Assignment,
  { assigned: { workflow, inputs, inputTargets, secrets }, folders: { inputDir, outputDir }, slot }: Work,
): Omit<RunnerWork, 'fetchCode' | 'fetchKeptModel' | 'traceparent'> => {
  const {
    gpu,
    runner: choice,
    workflow_version_id,
    deployment_id = null,
    file_inputs = [],
    secret_inputs = [],
  } = event.data;
  return {
    org_id,
    deployment_id,
    run_id,
    workflow,
    inputs,
    fileInputs: file_inputs,
    secretInputs: secret_inputs,
    inputTargets,
    secrets,
    gpu,
    attempt,
    workflow_version_id,
    choice,
    slot,
    inputDir,
    outputDir,
  };
};

const maskedResult = (result: RunResult, observe: RunObserver): RunResult => {
  if (result.outcome === 'failed')
    return { ...result, error: { ...result.error, message: observe.masked(result.error.message) } };
  if (result.outcome !== 'succeeded' || result.warnings === undefined) return result;
  return { ...result, warnings: result.warnings.map((warning) => masked(warning, observe)) };
};

const masked = (warning: RunWarning, observe: RunObserver): RunWarning => ({
  ...warning,
  message: observe.masked(warning.message),
});

/** While the workflow runs. `run` gets the trace context that the workflow may continue. */
const runnerSpan = (
  assignment: Assignment,
  run: (traceparent: string | null) => Promise<Executed>,
): Promise<Executed> => {
  const { kind } = assignment.event.data.runner;
  const attributes = { 'runledger.runner': kind, ...attemptAttributes(assignment) };
  return inSpan('run workflow', { kind: 'internal', attributes }, async (span) => {
    const result = await run(activeTraceparent() ?? assignment.event.traceparent);
    span.setAttribute('runledger.outcome', result.outcome);
    if (FAILURES.has(result.outcome)) markFailed(span, result.outcome);
    return result;
  });
};

const FAILURES: ReadonlySet<Executed['outcome']> = new Set(['failed', 'not_runnable', 'timed_out']);

import type { FetchedAssignment } from '../assignment/fetch-assigned.ts';
import type { FetchOptions } from '../assignment/fetch-text.ts';
import type { GpuSlot } from '../gpu/gpu-slots.ts';
import type { OpenRunner, RunnerFor } from '../runner/runner-type.ts';
import type { ProgressReport, RunResult } from '../runner/runner.ts';
import { openAttemptFolder } from './attempt-folder.ts';
import type { AttemptLedger } from './attempt-ledger.ts';
import { runnerSpan } from './attempt-spans.ts';
import { coalesceProgress, type Coalesced } from './coalesce-progress.ts';
import type { Assignment } from './core/assignment.ts';
import { begin, endOf, NO_OUTPUTS, type Ending } from './core/end-of-attempt.ts';
import { storeOutputs, type OutputTools } from './store-outputs.ts';

export interface AttemptTools extends OutputTools {
  readonly slots: readonly GpuSlot[];
  readonly runnerFor: RunnerFor;
  readonly workFolder: string;
  readonly sendProgress: (assignment: Assignment, report: ProgressReport) => void;
  readonly fetch: (assignment: Assignment, options: FetchOptions) => Promise<FetchedAssignment>;
}

/** At most about five progress reports a second of each run reach the log. */
const PROGRESS_EVERY_MS = 200;

/** Executes one attempt from its assignment to its end. The ledger decides what may still be stored. */
export const executeAttempt = async (ledger: AttemptLedger, tools: AttemptTools): Promise<void> => {
  const { assignment } = ledger;
  using progress = coalesceProgress((report) => tools.sendProgress(assignment, report), PROGRESS_EVERY_MS);
  const plan = planOf(assignment, tools);
  if ('why' in plan) {
    await ledger.append((state) =>
      endOf(state, ending({ outcome: 'not_runnable', why: plan.why }, progress)),
    );
    return;
  }
  const fetched = await fetchAssigned(ledger, tools, progress);
  if (fetched.kind === 'refused') {
    const { reason, why } = fetched;
    await ledger.append((state) => endOf(state, ending({ outcome: 'not_fetched', reason, why }, progress)));
    return;
  }
  if (fetched.kind === 'stopped' || !(await ledger.append(begin))) {
    await ledger.append((state) => endOf(state, ending(NOT_BEGUN, progress)));
    return;
  }
  const { workFolder } = tools;
  await using folder = await openAttemptFolder(workFolder);
  const { run_id, attempt, event } = assignment;
  const { gpu, runner: choice } = event.data;
  const { workflow, inputs } = fetched;
  const { runner, slot } = plan;
  const { outputDir, textDir } = folder;
  const result = await runnerSpan(assignment, (traceparent) =>
    runner.run(
      { run_id, workflow, inputs, gpu, attempt, choice, slot, outputDir, traceparent },
      { progress: (report) => progress.report(report) },
      ledger.stop,
    ),
  );
  const stored = await storeOutputs(ledger, tools, { result, outputId: runner.outputId(choice), textDir });
  await ledger.append((state) => endOf(state, { ...ending(result, progress), ...stored }));
};

const planOf = (
  { event: { data } }: Assignment,
  { slots, runnerFor }: AttemptTools,
): { readonly runner: OpenRunner; readonly slot: GpuSlot } | { readonly why: string } => {
  const slot = slots[data.slot];
  const runner = runnerFor(data.runner);
  if (runner === undefined) return { why: `this executor has no runner for ${data.runner.kind}` };
  if (slot === undefined) {
    return { why: `this executor has no slot ${data.slot}, only ${slots.length} slots` };
  }
  if (slot.gpu !== data.gpu) {
    return { why: `slot ${data.slot} has a ${slot.gpu}, and the run requires a ${data.gpu}` };
  }
  return { runner, slot };
};

/** A user sees why a run that is assigned does not start. */
const fetchAssigned = async (
  { assignment, stop }: AttemptLedger,
  { fetch }: AttemptTools,
  progress: Coalesced,
): Promise<FetchedAssignment> => {
  let isWaiting = false;
  const onWaiting = (): void => {
    if (!isWaiting) progress.report({ progress: 0, live_status: 'waiting for the gateway' });
    isWaiting = true;
  };
  const fetched = await fetch(assignment, { stop, onWaiting });
  if (isWaiting) progress.report({ progress: 0, live_status: null });
  return fetched;
};

const NOT_BEGUN: RunResult = { outcome: 'cancelled', forced: false, files: [] };

const ending = (result: Ending['result'], progress: Coalesced): Ending => ({
  result,
  storing: { kind: 'stored' },
  outputs: NO_OUTPUTS,
  progress: progress.last().progress,
});

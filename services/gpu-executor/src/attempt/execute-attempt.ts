import type { RunOutput } from '@runledger/contracts/events/run-event-data';
import type { FetchedAssignment } from '../assignment/fetch-assigned.ts';
import type { FetchOptions } from '../assignment/fetch-text.ts';
import type { GpuSlot } from '../gpu/gpu-slots.ts';
import type { OpenRunner, RunnerFor } from '../runner/runner-type.ts';
import type { OutputFile, ProgressReport, RunResult } from '../runner/runner.ts';
import type { StoredFiles } from '../upload/store-files.ts';
import { openAttemptFolder } from './attempt-folder.ts';
import type { AttemptLedger } from './attempt-ledger.ts';
import { runnerSpan } from './attempt-spans.ts';
import { coalesceProgress, type Coalesced } from './coalesce-progress.ts';
import type { Assignment } from './core/assignment.ts';
import { begin, beginStoring, endOf, type Ending } from './core/end-of-attempt.ts';
import { fitsIntoEvent, runOutputs } from './core/run-outputs.ts';

export interface AttemptTools {
  readonly slots: readonly GpuSlot[];
  readonly runnerFor: RunnerFor;
  readonly workFolder: string;
  readonly newId: () => string;
  readonly sendProgress: (assignment: Assignment, report: ProgressReport) => void;
  readonly fetch: (assignment: Assignment, options: FetchOptions) => Promise<FetchedAssignment>;
  readonly store: (
    assignment: Assignment,
    files: readonly OutputFile[],
    stop: AbortSignal,
  ) => Promise<StoredFiles>;
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
  const { outputDir } = folder;
  const result = await runnerSpan(assignment, (traceparent) =>
    runner.run(
      { run_id, workflow, inputs, gpu, attempt, choice, slot, outputDir, traceparent },
      { progress: (report) => progress.report(report) },
      ledger.stop,
    ),
  );
  const end = await store(ledger, tools, { result, outputId: runner.outputId(choice), progress });
  await ledger.append((state) => endOf(state, end));
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

interface Executed {
  readonly result: RunResult;
  readonly outputId: string;
  readonly progress: Coalesced;
}

/** Stores the files of the workflow, unless the run was cancelled or requeued, and combines the outputs. */
const store = async (
  ledger: AttemptLedger,
  { store: storeFiles, newId }: AttemptTools,
  { result, outputId, progress }: Executed,
): Promise<Ending> => {
  if (result.outcome === 'not_runnable' || result.outcome === 'cancelled') return ending(result, progress);
  const { files } = result;
  let stored: StoredFiles = { storing: { kind: 'stored' }, files: [] };
  if (files.length > 0) {
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    stored = (await ledger.append((state) => beginStoring(state, files.length, bytes)))
      ? await storeFiles(ledger.assignment, files, ledger.stop)
      : { storing: { kind: 'stopped' }, files: [] };
  }
  const data = result.outcome === 'succeeded' ? result.data : {};
  const outputs = runOutputs(newId(), outputId, data, stored.files);
  return fitsIntoEvent(outputs)
    ? ending(result, progress, stored.storing, outputs)
    : ending(result, progress, {
        kind: 'refused',
        reason: 'workflow_error',
        why: 'The list of outputs is larger than 256 KiB as JSON. Write less text, or leave fewer files.',
      });
};

const NOT_BEGUN: RunResult = { outcome: 'cancelled', forced: false, files: [] };

const ending = (
  result: Ending['result'],
  progress: Coalesced,
  storing: Ending['storing'] = { kind: 'stored' },
  outputs: readonly RunOutput[] = [],
): Ending => ({ result, storing, outputs, progress: progress.last().progress });

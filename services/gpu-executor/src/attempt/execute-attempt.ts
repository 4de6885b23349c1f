import type { RunOutput } from '@runledger/contracts/events/run-event-data';
import type { AttemptLedger } from './attempt-ledger.ts';
import { openAttemptFolder } from './attempt-folder.ts';
import { coalesceProgress, type Coalesced } from './coalesce-progress.ts';
import { runnerSpan } from './attempt-spans.ts';
import type { Assignment } from './core/assignment.ts';
import { begin, beginStoring, endOf, type Ending } from './core/end-of-attempt.ts';
import { fitsIntoEvent, runOutputs } from './core/run-outputs.ts';
import type { GpuSlot } from '../gpu/gpu-slots.ts';
import type { OutputFile, ProgressReport, Runner, RunResult } from '../runner/runner.ts';
import type { StoredFiles } from '../upload/store-files.ts';

export interface AttemptTools {
  readonly slots: readonly GpuSlot[];
  readonly runner: Runner;
  readonly workFolder: string;
  readonly newId: () => string;
  readonly sendProgress: (assignment: Assignment, report: ProgressReport) => void;
  readonly store: (
    assignment: Assignment,
    files: readonly OutputFile[],
    stop: AbortSignal,
  ) => Promise<StoredFiles>;
}

/** About five reports a second for each run reach the log, however many the program makes. */
const PROGRESS_EVERY_MS = 200;

/** Executes one attempt from its assignment to its end. What it may tell is decided by the ledger each time. */
export const executeAttempt = async (ledger: AttemptLedger, tools: AttemptTools): Promise<void> => {
  const { assignment } = ledger;
  using progress = coalesceProgress((report) => tools.sendProgress(assignment, report), PROGRESS_EVERY_MS);
  const plan = planOf(assignment, tools.slots);
  if ('why' in plan) {
    await ledger.tell((run) => endOf(run, ending({ outcome: 'not_runnable', why: plan.why }, progress)));
    return;
  }
  if (!(await ledger.tell(begin))) {
    await ledger.tell((run) => endOf(run, ending(NOT_BEGUN, progress)));
    return;
  }
  await using folder = await openAttemptFolder(tools.workFolder);
  const { run_id, org_id, attempt, event } = assignment;
  const { workflow, inputs, gpu } = event.data;
  const result = await runnerSpan(assignment, (traceparent) =>
    tools.runner.run(
      { run_id, org_id, workflow, inputs, gpu, attempt, ...plan, outputDir: folder.outputDir, traceparent },
      { progress: (report) => progress.report(report) },
      ledger.stop,
    ),
  );
  const end = await store(ledger, tools, plan.program, result, progress);
  await ledger.tell((run) => endOf(run, end));
};

const planOf = (
  { event: { data } }: Assignment,
  slots: readonly GpuSlot[],
): { program: string; slot: GpuSlot } | { why: string } => {
  const slot = slots[data.slot];
  if (data.runner.kind !== 'program') return { why: `this executor has no runner for ${data.runner.kind}` };
  if (slot === undefined)
    return { why: `this executor has no slot ${data.slot}, only ${slots.length} slots` };
  if (slot.gpu !== data.gpu)
    return { why: `slot ${data.slot} has a ${slot.gpu}, and the run wants a ${data.gpu}` };
  return { program: data.runner.program, slot };
};

/** Stores what the workflow left, unless the run is cancelled or gone, and puts the outputs together. */
const store = async (
  ledger: AttemptLedger,
  { store: storeFiles, newId }: AttemptTools,
  program: string,
  result: RunResult,
  progress: Coalesced,
): Promise<Ending> => {
  if (result.outcome === 'not_runnable' || result.outcome === 'cancelled') return ending(result, progress);
  const { files } = result;
  let stored: StoredFiles = { storing: { kind: 'stored' }, files: [] };
  if (files.length > 0) {
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    stored = (await ledger.tell((run) => beginStoring(run, files.length, bytes)))
      ? await storeFiles(ledger.assignment, files, ledger.stop)
      : { storing: { kind: 'stopped' }, files: [] };
  }
  const outputs = runOutputs(
    newId(),
    program,
    result.outcome === 'succeeded' ? result.data : {},
    stored.files,
  );
  return fitsIntoEvent(outputs)
    ? ending(result, progress, stored.storing, outputs)
    : ending(result, progress, {
        kind: 'refused',
        reason: 'workflow_error',
        why: 'The list of outputs is larger than 256 KiB as JSON; say less, or leave fewer files.',
      });
};

const NOT_BEGUN: RunResult = { outcome: 'cancelled', forced: false, files: [] };

const ending = (
  result: RunResult,
  progress: Coalesced,
  storing: Ending['storing'] = { kind: 'stored' },
  outputs: RunOutput[] = [],
): Ending => ({ result, storing, outputs, progress: progress.last().progress });

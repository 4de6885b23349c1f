import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_WARNINGS } from '@runledger/contracts/limits';
import { join } from 'node:path';
import { cancelled, failed, succeeded, type Executed } from '../model-server/executed.ts';
import type { OutputFile, RunnerWork } from '../../runners/runner.ts';
import type { PromptEnd, Span } from './core/history-entry.ts';
import { nodeError } from './core/prompt-error.ts';
import { runFolder } from './core/run-folder.ts';
import { uncheckedInputs, unreadInput, withoutWitnesses } from './core/witnesses.ts';
import { fetchOutputs, type FetchedOutputs } from './prompt/fetch-outputs.ts';
import type { NewPrompt } from './prompt/send-prompt.ts';
import type { ComfyLease } from './server/comfy-server.ts';

interface EndedPrompt {
  readonly lease: ComfyLease;
  readonly work: RunnerWork;
  readonly prompt: NewPrompt;
  readonly end: PromptEnd;
  /** A file that the run was to use, and did not. */
  readonly unread: AttemptError | null;
}

/** Fetches what a prompt made, and removes its entry: the server keeps 10,000 of them in memory. */
export const resultOfEnd = async (
  { lease, work, prompt, end, unread }: EndedPrompt,
  signal: AbortSignal,
): Promise<Executed> => {
  const folder = runFolder(work.run_id, work.attempt);
  const { witnesses } = prompt;
  const { span } = end;
  const workflow = withoutWitnesses(prompt.workflow, witnesses);
  const outputs = withoutWitnesses(end.outputs, witnesses);
  const target = { outputDir: work.outputDir, folder, span: span ?? (lease.isOwn ? since(prompt) : null) };
  const fetched = await fetchOutputs(lease.api, { workflow, outputs }, target, signal);
  await lease.api.post('history', { delete: [prompt.prompt_id] });
  if (signal.aborted) return { result: await cancelled(work, false), isUsable: true };
  const nothing = unreadInput(workflow, witnesses, end.outputs);
  const error = nothing ?? errorOfEnd(end, prompt) ?? unread ?? fetched.error;
  const warnings = [...uncheckedInputs(witnesses, end.outputs), ...fetched.warnings].slice(0, MAX_WARNINGS);
  return withNodes(
    error === null ? await succeeded(work, {}) : await failed(work, error, { isUsable: true }),
    { ...fetched, warnings },
  );
};

/** Nobody else has a server of the executor's own. */
const since = ({ madeAt }: NewPrompt): Span => ({ from: madeAt, to: Date.now() });

/** The result with what is known of the nodes that made it. */
const withNodes = ({ result, isUsable }: Executed, { makers, nodes, warnings }: FetchedOutputs): Executed => {
  if (result.outcome === 'not_runnable') return { result, isUsable };
  const files = result.files.map((file): OutputFile => {
    const node = makers.get(join(file.subfolder, file.filename));
    return node === undefined ? file : { ...file, node };
  });
  if (result.outcome !== 'succeeded') return { result: { ...result, files }, isUsable };
  const odd = warnings.length === 0 ? {} : { warnings };
  return { result: { ...result, files, nodes, ...odd }, isUsable };
};

const errorOfEnd = ({ end }: PromptEnd, { workflow }: NewPrompt): AttemptError | null => {
  switch (end.kind) {
    case 'succeeded':
      return null;
    case 'failed':
      return nodeError(workflow, end.failure);
    case 'interrupted':
      return errorOf('execution_error', 'Somebody interrupted the run at the ComfyUI server itself.');
  }
};
